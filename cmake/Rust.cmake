# Finds cargo, builds third_party/rust and defines the imported target deepinfer_rust.
#
# Build folders under <source>/build share one cargo folder: the crates are compiled once. A
# sanitizer build links the same archive.
set(rust_minimum 1.87)
set(rust_source ${PROJECT_SOURCE_DIR}/third_party/rust)

# Sets `out` to the version of `cargo`, or to nothing when it does not run.
function(deepinfer_cargo_version cargo out)
  execute_process(
    COMMAND ${cargo} --version
    OUTPUT_VARIABLE text
    ERROR_QUIET
    RESULT_VARIABLE failed
  )
  set(${out} "" PARENT_SCOPE)
  if(NOT failed AND text MATCHES "^cargo ([0-9]+\\.[0-9]+(\\.[0-9]+)?)")
    set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
  endif()
endfunction()

# Sets DEEPINFER_CARGO to the first one that is new enough: the path's own, Debian's cargo-web
# (which installs /usr/bin/cargo), or the user's toolchain when its folder is not on the path.
function(deepinfer_find_cargo)
  find_program(cargo_on_path cargo NO_CACHE)
  foreach(cargo IN ITEMS ${cargo_on_path} /usr/bin/cargo $ENV{HOME}/.cargo/bin/cargo)
    deepinfer_cargo_version(${cargo} version)
    if(version AND version VERSION_GREATER_EQUAL rust_minimum)
      set(DEEPINFER_CARGO ${cargo} CACHE FILEPATH "cargo, ${rust_minimum} or newer" FORCE)
      message(STATUS "Rust: cargo ${version} (${cargo})")
      return()
    endif()
  endforeach()
  message(
    FATAL_ERROR
      "cargo ${rust_minimum} or newer is missing. On Debian 12: apt-get install cargo-web rustc-web"
  )
endfunction()

if(NOT DEEPINFER_CARGO OR NOT EXISTS "${DEEPINFER_CARGO}")
  deepinfer_find_cargo()
endif()

# cargo runs the compiler that lies beside it, not whichever comes first on the path.
get_filename_component(rust_bin ${DEEPINFER_CARGO} DIRECTORY)
set(rust_environment "")
if(EXISTS ${rust_bin}/rustc)
  list(APPEND rust_environment RUSTC=${rust_bin}/rustc)
endif()

string(FIND "${PROJECT_BINARY_DIR}/" "${PROJECT_SOURCE_DIR}/build/" rust_is_inside)
if(rust_is_inside EQUAL 0)
  set(rust_folder ${PROJECT_SOURCE_DIR}/build/rust)
else()
  set(rust_folder ${PROJECT_BINARY_DIR}/rust)
endif()
set(rust_archive ${rust_folder}/release/libdeepinfer_rust.a)

set(rust_flags --release --locked)
if(DEEPINFER_RUST_OFFLINE OR EXISTS ${rust_source}/vendor)
  list(APPEND rust_flags --offline)
endif()

# The stamp belongs to this build folder, so that an archive that another one has already built is
# not built again with every call.
set(rust_stamp ${CMAKE_CURRENT_BINARY_DIR}/deepinfer_rust.stamp)
add_custom_command(
  OUTPUT ${rust_stamp}
  BYPRODUCTS ${rust_archive}
  COMMAND ${CMAKE_COMMAND} -E env CARGO_TARGET_DIR=${rust_folder} ${rust_environment}
          ${DEEPINFER_CARGO} build ${rust_flags}
  COMMAND ${CMAKE_COMMAND} -E touch ${rust_stamp}
  DEPENDS ${rust_source}/Cargo.toml
          ${rust_source}/Cargo.lock
          ${rust_source}/src/boundary.rs
          ${rust_source}/src/engram.rs
          ${rust_source}/src/lib.rs
          ${rust_source}/src/tokenizer.rs
  WORKING_DIRECTORY ${rust_source}
  COMMENT "Building the Rust library"
  VERBATIM
)
add_custom_target(deepinfer_rust_build DEPENDS ${rust_stamp})

find_package(Threads REQUIRED)
add_library(deepinfer_rust STATIC IMPORTED GLOBAL)
set_target_properties(
  deepinfer_rust
  PROPERTIES IMPORTED_LOCATION ${rust_archive} INTERFACE_INCLUDE_DIRECTORIES
                                               ${rust_source}/include
)
target_link_libraries(deepinfer_rust INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
add_dependencies(deepinfer_rust deepinfer_rust_build)
