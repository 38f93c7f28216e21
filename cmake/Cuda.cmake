# Decides whether this build has the CUDA backend, and sets it up. The rest of the project reads
# DEEPINFER_CUDA, which is ON or OFF from here on.
#
# The compiler is the one that CMAKE_CUDA_COMPILER, the environment variable CUDACXX or PATH names, in
# this order. packaging/install-deps.sh --with-cuda installs one where the machine has none.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a CACHE STRING "GPU architectures to build for")
endif()

if(DEEPINFER_CUDA STREQUAL "AUTO")
  set(DEEPINFER_CUDA OFF)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
    # An older toolkit means a build without the backend, not a build that fails.
    if(nvcc_version MATCHES "release 1[3-9]\\.")
      set(DEEPINFER_CUDA ON)
    endif()
  endif()
endif()

if(DEEPINFER_CUDA)
  # CMake 3.25 (Debian 12) does not know nvcc's C++20 flag and refuses the standard; tell it.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  find_package(CUDAToolkit 13 REQUIRED)
endif()
message(STATUS "CUDA backend: ${DEEPINFER_CUDA}")
