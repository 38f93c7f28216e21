# The names declared in include/deepinfer_rust.h are exactly the dr_* functions of the archive.
# Run: cmake -DNM=<nm> -DARCHIVE=<libdeepinfer_rust.a> -P check_header.cmake
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/include/deepinfer_rust.h lines REGEX "dr_[a-z0-9_]+\\(")
set(declared "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "dr_[a-z0-9_]+\\(" name "${line}")
  string(REPLACE "(" "" name "${name}")
  list(APPEND declared ${name})
endforeach()

# Old binutils complain about members they cannot read; what they list is what counts.
execute_process(COMMAND ${NM} -g --defined-only ${ARCHIVE} OUTPUT_VARIABLE symbols ERROR_QUIET)
string(REGEX MATCHALL " T dr_[a-z0-9_]+" exported "${symbols}")
list(TRANSFORM exported REPLACE " T " "")

list(SORT declared)
list(SORT exported)
if(NOT declared OR NOT declared STREQUAL exported)
  message(FATAL_ERROR "declared: ${declared}\nexported: ${exported}")
endif()
