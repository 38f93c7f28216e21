# Installs the client library, moves it elsewhere, builds a program against it in both ways and runs it.
#
#   cmake -DBUILD_DIR=... -DSOURCE_DIR=... -DWORK_DIR=... -DCXX=... -P check_package.cmake
cmake_minimum_required(VERSION 3.24)

# run(<variable for the output> <expected exit code> <command>...)
function(run out expected)
  execute_process(
    COMMAND ${ARGN}
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE code
    OUTPUT_STRIP_TRAILING_WHITESPACE
  )
  if(NOT code STREQUAL "${expected}")
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nended with ${code}:\n${output}\n${errors}")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

# Without a daemon the program ends with 3 and prints the code.
function(expect_unreachable program)
  run(output 3 ${program} ${WORK_DIR}/no-daemon.sock)
  if(NOT output STREQUAL "daemon_unreachable")
    message(FATAL_ERROR "${program} printed '${output}'")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(ignored 0 ${CMAKE_COMMAND} --install ${BUILD_DIR}/client --prefix ${WORK_DIR}/first
    --component client_sdk)
file(RENAME ${WORK_DIR}/first ${WORK_DIR}/stage)

run(ignored 0 ${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/client_sdk/consumer -B ${WORK_DIR}/by-cmake
    -DCMAKE_PREFIX_PATH=${WORK_DIR}/stage -DCMAKE_CXX_COMPILER=${CXX})
run(ignored 0 ${CMAKE_COMMAND} --build ${WORK_DIR}/by-cmake)
expect_unreachable(${WORK_DIR}/by-cmake/consumer)

file(GLOB_RECURSE package ${WORK_DIR}/stage/deepinfer_client.pc)
cmake_path(GET package PARENT_PATH package_folder)
set(ENV{PKG_CONFIG_PATH} ${package_folder})
run(flags 0 pkg-config --cflags --libs deepinfer_client)
run(libraries 0 pkg-config --variable=libdir deepinfer_client)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(ignored 0 ${CXX} -std=c++20 ${SOURCE_DIR}/tests/client_sdk/consumer/main.cpp -o
    ${WORK_DIR}/by-pkgconfig ${flags} -Wl,-rpath,${libraries})
expect_unreachable(${WORK_DIR}/by-pkgconfig)

# Nothing of what is linked in is offered to others.
file(GLOB_RECURSE library ${WORK_DIR}/stage/libdeepinfer_client.so)
run(symbols 0 nm --dynamic --demangle --defined-only ${library})
string(REGEX MATCHALL "[^\n]*(deepinfer::ipc::|deepinfer::client::|capnp::|kj::|boost::)[^\n]*"
       leaked "${symbols}")
list(FILTER leaked EXCLUDE REGEX " deepinfer::Client::")
if(leaked)
  message(FATAL_ERROR "exported, and not of the public header:\n${leaked}")
endif()
