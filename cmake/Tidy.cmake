# Runs clang-tidy beside every compilation of C++. Read by the preset `tidy` at the project() call.
# Debian names the program by its version; what another version warns about differs.
find_program(DEEPINFER_CLANG_TIDY NAMES clang-tidy-14 clang-tidy REQUIRED)
set(CMAKE_CXX_CLANG_TIDY ${DEEPINFER_CLANG_TIDY})
