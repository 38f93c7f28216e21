#include "engine/checkpoint/assets.h"

#include <array>
#include <cstddef>

#include <zlib.h>

// Defined in assets.S: the first byte of each file and the one past its last.
extern "C" {
extern const std::uint8_t kDeepinferTokenizerGz;
extern const std::uint8_t kDeepinferTokenizerGzEnd;
extern const std::uint8_t kDeepinferConfig;
extern const std::uint8_t kDeepinferConfigEnd;
}

namespace deepinfer::engine {
namespace {

// Unpacks a gzip stream held in memory.
class Unpacker {
 public:
  Unpacker() {
    constexpr int kGzip = 16;  // zlib's mark for a gzip header
    ready_ = inflateInit2(&stream_, MAX_WBITS + kGzip) == Z_OK;
  }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() {
    if (ready_) inflateEnd(&stream_);
  }

  Result<std::string> unpack(std::span<const std::uint8_t> packed) {
    if (!ready_) return fail(ErrorCode::kInternal, "cannot start zlib");
    std::string text;
    std::array<char, 1U << 16U> block = {};
    // zlib takes a pointer to non-const, though it only reads.
    stream_.next_in = const_cast<Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
    int state = Z_OK;
    while (state == Z_OK) {
      stream_.next_out = reinterpret_cast<Bytef*>(block.data());
      stream_.avail_out = static_cast<uInt>(block.size());
      state = inflate(&stream_, Z_NO_FLUSH);
      text.append(block.data(), block.size() - stream_.avail_out);
    }
    if (state != Z_STREAM_END) {
      return fail(ErrorCode::kInternal, "the built-in tokenizer does not unpack");
    }
    return text;
  }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
};

std::span<const std::uint8_t> between(const std::uint8_t& first, const std::uint8_t& last) {
  const auto bytes =
      reinterpret_cast<std::uintptr_t>(&last) - reinterpret_cast<std::uintptr_t>(&first);
  return {&first, bytes};
}

}  // namespace

std::span<const std::uint8_t> released_tokenizer_gz() {
  return between(kDeepinferTokenizerGz, kDeepinferTokenizerGzEnd);
}

Result<std::string> released_tokenizer() { return Unpacker().unpack(released_tokenizer_gz()); }

std::string_view released_config() {
  const auto bytes = between(kDeepinferConfig, kDeepinferConfigEnd);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace deepinfer::engine
