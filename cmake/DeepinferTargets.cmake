# The two functions through which every target of the project is declared, so that warnings, language
# level and include root are stated once.

# Warnings for our own code only: dependencies come in as SYSTEM includes.
add_library(deepinfer_warnings INTERFACE)
target_compile_options(
  deepinfer_warnings
  INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wold-style-cast;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wimplicit-fallthrough>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
)

# deepinfer_add_library(<name> SOURCES ... [PUBLIC ...] [PRIVATE ...])
# Declares the static library deepinfer_<name>, used everywhere as deepinfer::<name>.
# SOURCES lists every file, headers too; no globbing, so adding a file is a visible change.
function(deepinfer_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(target deepinfer_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(deepinfer::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(
    ${target}
    PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} deepinfer_warnings
  )
endfunction()

# The tests of one label, with the programs they run: deepinfer_tests_<label>.
foreach(label IN ITEMS unit golden gpu e2e slow)
  add_custom_target(deepinfer_tests_${label})
endforeach()

# deepinfer_add_test(<name> LABEL <unit|golden|gpu|e2e|slow> SOURCES ... LINK ...)
# One executable per module and label; each TEST becomes a ctest entry.
function(deepinfer_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main deepinfer_warnings)
  add_dependencies(deepinfer_tests_${arg_LABEL} ${name})
  include(GoogleTest)
  # PRE_TEST: tests are listed when ctest runs, so a gpu binary builds on a machine without a device.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${arg_LABEL} TIMEOUT 300)
endfunction()
