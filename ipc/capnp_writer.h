// Builds Cap'n Proto messages of one segment in place, in a vector whose memory is used again.
//
// Only for the codec_*.cpp beside it. A message is built in two steps: Room adds up the most that it can
// take, write_message() clears as many words and lets the caller fill them.
// Units:    words of 8 bytes; bytes where a name says so
// Threads:  plain values
// Cost:     clearing the room, which is the message's size; no allocation once `words` has grown
// Errors:   none: what cannot be a message becomes an empty one. Too little room is a bug and aborts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <capnp/message.h>

#include "ipc/codec.h"

namespace deepinfer::ipc {

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie in memory");

// An upper bound of a message's size.
class Room {
 public:
  template <typename Struct>
  Room& add_struct() {
    words_ += words_of<Struct>();
    return *this;
  }
  template <typename Struct>
  Room& add_structs(std::size_t count) {
    words_ += 1 + count * words_of<Struct>();  // a list of structs begins with a tag
    return *this;
  }
  Room& add_pointers(std::size_t count) {
    words_ += count;
    return *this;
  }
  Room& add_bytes(std::size_t bytes) {
    words_ += (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    return *this;
  }
  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::size_t bytes() const { return words_ * sizeof(std::uint64_t); }

 private:
  template <typename Struct>
  static constexpr std::size_t words_of() {
    return std::size_t{Struct::_capnpPrivate::dataWordSize} + Struct::_capnpPrivate::pointerCount;
  }
  std::size_t words_ = 1;  // the pointer to the root
};

template <typename Root, typename Fill>
void write_message(const Room& room, Words& words, const Fill& fill) {
  // Lists end at 2^29 - 1 elements, pointers at 2^29 words.
  if (room.bytes() > kMostMessageBytes) {
    words.clear();
    return;
  }
  words.assign(room.words(), 0);
  try {
    const kj::ArrayPtr<capnp::word> memory(reinterpret_cast<capnp::word*>(words.data()),
                                           words.size());
    capnp::FlatMessageBuilder message(memory);
    fill(message.template initRoot<Root>());
    words.resize(message.getSegmentsForOutput()[0].size());
  } catch (const kj::Exception&) {
    std::abort();
  }
}

// What is put into a field of type Data.
[[nodiscard]] inline capnp::Data::Reader data_of(std::string_view text) {
  return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}
template <typename Number>
[[nodiscard]] capnp::Data::Reader data_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const capnp::byte*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// Fills a Data with numbers and bytes one after another.
class Column {
 public:
  explicit Column(capnp::Data::Builder data) : next_(data.begin()) {}
  template <typename Number>
  void put(Number number) {
    std::memcpy(next_, &number, sizeof(number));
    next_ += sizeof(number);
  }
  void put_text(std::string_view text) {
    if (!text.empty()) std::memcpy(next_, text.data(), text.size());
    next_ += text.size();
  }

 private:
  capnp::byte* next_;
};

}  // namespace deepinfer::ipc
