#include "ipc/codec.h"

#include <cstring>
#include <string>

namespace deepinfer::ipc {

Result<Words> to_words(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(std::uint64_t) != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "a message of " + std::to_string(bytes.size()) + " bytes, not whole words of 8");
  }
  Words words(bytes.size() / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

}  // namespace deepinfer::ipc
