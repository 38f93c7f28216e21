// libFuzzer's entry for datagrams of clients: build with -fsanitize=fuzzer and run.
#include <cstdlib>

#include "tests/fuzz/descriptor_fuzz.h"

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!deepinfer::ipc::datagram_is_handled(data, size)) std::abort();
  return 0;
}
