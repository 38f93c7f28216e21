// Reads Cap'n Proto messages of one segment that somebody else has written, and collects what is wrong.
//
// Only for the codec_*.cpp beside it.
// Units:    words of 8 bytes; bytes where a name says so
// Threads:  plain values
// Cost:     linear in the message, whatever it claims: the traversal limit bounds what is read, and a list
//           is checked before it is walked
// Errors:   kInvalidArgument the first thing that is wrong, without any text of the message. The library's
//           exceptions end here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <capnp/message.h>
#include <kj/exception.h>

#include "base/result.h"
#include "ipc/codec.h"

namespace deepinfer::ipc {

static_assert(sizeof(void*) == 8, "sizes of messages are checked in 64 bits");

class Reader {
 public:
  static constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();

  explicit Reader(std::size_t words) : words_(words) {}

  // Remembers the first problem only; reading goes on, with what is there.
  void refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] std::string text(const char* name, capnp::Data::Reader data,
                                 std::size_t most_bytes = kAnySize) {
    if (!at_most(name, data.size(), "bytes", most_bytes)) return {};
    return {reinterpret_cast<const char*>(data.begin()), data.size()};
  }

  template <typename Number>
  [[nodiscard]] std::vector<Number> numbers(const char* name, capnp::Data::Reader data) {
    if (data.size() % sizeof(Number) != 0) {
      refuse(std::string(name) + " has " + std::to_string(data.size()) +
             " bytes, not whole numbers of " + std::to_string(sizeof(Number)));
      return {};
    }
    std::vector<Number> numbers(data.size() / sizeof(Number));
    if (!numbers.empty()) std::memcpy(numbers.data(), data.begin(), data.size());
    return numbers;
  }

  [[nodiscard]] double finite(const char* name, double value) {
    if (!std::isfinite(value)) refuse(std::string(name) + " is not a finite number");
    return value;
  }

  // An enum whose numbers are those of the protocol. What a later version may have added is refused.
  template <typename Enum, typename Wire>
  [[nodiscard]] Enum known(const char* name, Wire value, Enum last) {
    const auto number = static_cast<std::uint16_t>(value);
    if (number > static_cast<std::uint16_t>(last)) {
      refuse(std::string(name) + " " + std::to_string(number) + " is unknown");
      return last;
    }
    return static_cast<Enum>(number);
  }

  // How often to walk `list`: not at all when it claims more than allowed, or more elements than the
  // message has words. Every element that this project's encoders write takes a word.
  template <typename List>
  [[nodiscard]] unsigned elements(const char* name, const List& list, std::size_t most = kAnySize) {
    const bool is_fine = at_most(name, list.size(), "entries", std::min(most, words_));
    return is_fine ? list.size() : 0;
  }

 private:
  bool at_most(const char* name, std::size_t size, const char* unit, std::size_t most) {
    if (size <= most) return true;
    refuse(std::string(name) + " has " + std::to_string(size) + " " + unit + ", at most " +
           std::to_string(most) + " are allowed");
    return false;
  }

  std::size_t words_;
  std::string problem_;
};

// `read` is called with the root, the value to fill and a Reader.
template <typename Root, typename Value, typename Read>
[[nodiscard]] Result<Value> read_message(WordView words, const Read& read) {
  if (words.empty()) return fail(ErrorCode::kInvalidArgument, "the message is empty");
  if (words.size_bytes() > kMostMessageBytes) {
    return fail(ErrorCode::kInvalidArgument,
                "the message has " + std::to_string(words.size_bytes()) + " bytes, at most " +
                    std::to_string(kMostMessageBytes) + " are possible");
  }
  // Each word is read once; the rest is for lists whose elements take no room.
  const capnp::ReaderOptions options{.traversalLimitInWords = 4 * std::uint64_t{words.size()} + 8,
                                     .nestingLimit = 8};
  try {
    const kj::ArrayPtr<const capnp::word> segment(
        reinterpret_cast<const capnp::word*>(words.data()), words.size());
    capnp::SegmentArrayMessageReader message(kj::arrayPtr(&segment, 1), options);
    Reader reader(words.size());
    Result<Value> value{Value()};
    read(message.getRoot<Root>(), *value, reader);
    if (!reader.problem().empty()) return fail(ErrorCode::kInvalidArgument, reader.problem());
    return value;
  } catch (const kj::Exception&) {
    // Its text names lines of the library; what a user can act on is only that it is damaged.
    return fail(ErrorCode::kInvalidArgument, "the message is not sound Cap'n Proto");
  }
}

}  // namespace deepinfer::ipc
