#include "tests/fuzz/descriptor_fuzz.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "ipc/codec.h"

namespace deepinfer::ipc {
namespace {

constexpr std::size_t kLongestProblem = 200;

bool is_safe_to_log(const Error& error) {
  const std::string& text = error.message;
  return error.code == ErrorCode::kInvalidArgument && !text.empty() &&
         text.size() <= kLongestProblem &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Exactly as long as the message: a sanitizer sees the first byte that is read beyond it.
Words words_of(const std::uint8_t* data, std::size_t size) {
  Words words(size / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * sizeof(std::uint64_t));
  return words;
}

bool odd_length_is_handled(const std::uint8_t* data, std::size_t size) {
  const auto words = to_words({reinterpret_cast<const std::byte*>(data), size});
  const bool is_whole = size % sizeof(std::uint64_t) == 0;
  return words.has_value() == is_whole && (words || is_safe_to_log(words.error()));
}

template <typename Message>
bool is_handled(const Words& words, Result<Message> (*decode)(WordView)) {
  const Result<Message> first = decode(words);
  if (!first) return is_safe_to_log(first.error());
  Words once;
  encode(*first, once);
  const Result<Message> second = decode(once);
  if (!second) return false;
  Words twice;
  encode(*second, twice);
  return once == twice;
}

}  // namespace

bool submit_is_handled(const std::uint8_t* data, std::size_t size) {
  return odd_length_is_handled(data, size) && is_handled(words_of(data, size), decode_submit);
}

bool datagram_is_handled(const std::uint8_t* data, std::size_t size) {
  const Words words = words_of(data, size);
  return is_handled(words, decode_hello) && is_handled(words, decode_control_request);
}

bool answer_is_handled(const std::uint8_t* data, std::size_t size) {
  const Words words = words_of(data, size);
  return is_handled(words, decode_result) && is_handled(words, decode_error) &&
         is_handled(words, decode_token) && is_handled(words, decode_hello_reply) &&
         is_handled(words, decode_control_reply);
}

}  // namespace deepinfer::ipc
