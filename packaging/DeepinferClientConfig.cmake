# find_package(DeepinferClient): the target deepinfer::client, a shared library that asks for nothing else.
include(${CMAKE_CURRENT_LIST_DIR}/DeepinferClientTargets.cmake)
