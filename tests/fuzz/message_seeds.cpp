// Writes good input as corpora to begin with: fuzz_message_seeds FOLDER makes FOLDER/descriptor, datagram,
// answer and slot. They are made anew each time, so that they fit the protocol.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ipc/codec.h"
#include "ipc/layout.h"
#include "tests/fuzz/message_samples.h"

namespace {

namespace samples = deepinfer::ipc::samples;

bool write(const std::filesystem::path& folder, const std::string& kind,
           const std::vector<deepinfer::ipc::Words>& messages) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto bytes = deepinfer::ipc::bytes_of(messages[i]);
    std::ofstream file(folder / (kind + "-" + std::to_string(i)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) return false;
  }
  return !error;
}

// A client's words and two slots as tests/fuzz/slot_fuzz.h lays them out: a descriptor behind the header,
// and one in the arena.
deepinfer::ipc::Words slots() {
  deepinfer::ipc::Words words{std::uint64_t{2} | std::uint64_t{1} << 32U};  // published, sleeping
  for (std::uint32_t i = 0; i < 2; ++i) {
    deepinfer::ipc::SubmissionHeader header;
    header.sequence = i;
    header.operation = static_cast<std::uint16_t>(deepinfer::ipc::Operation::kSubmit);
    header.user_data = 7;
    header.descriptor_offset = i == 0 ? deepinfer::ipc::kInline : 64;
    header.descriptor_bytes = 64;
    words.resize(words.size() + 16);  // the header, and as many bytes of descriptor
    std::memcpy(&words[words.size() - 16], &header, sizeof(header));
  }
  return words;
}

bool write_all(const std::filesystem::path& folder) {
  using samples::encoded;
  return write(folder / "descriptor", "submit", encoded(samples::submits())) &&
         write(folder / "slot", "two", {slots()}) &&
         write(folder / "datagram", "hello", encoded(samples::hellos())) &&
         write(folder / "datagram", "request", encoded(samples::control_requests())) &&
         write(folder / "answer", "result", encoded(samples::results())) &&
         write(folder / "answer", "error", encoded(samples::errors())) &&
         write(folder / "answer", "token", encoded(samples::tokens())) &&
         write(folder / "answer", "hello", encoded(samples::hello_replies())) &&
         write(folder / "answer", "reply", encoded(samples::control_replies()));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: fuzz_message_seeds FOLDER\n", stderr);
    return 2;
  }
  if (write_all(arguments[1])) return 0;
  std::fprintf(stderr, "fuzz_message_seeds: error: cannot write (%s): check the folder\n",
               arguments[1]);
  return 1;
}
