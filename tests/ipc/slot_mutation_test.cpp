// Damages what a good client would write in every way that one byte allows, and at random: the daemon takes
// it, refuses it alone or ends the session, never otherwise. The same entry point serves a fuzzer.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "ipc/layout.h"
#include "tests/fuzz/slot_fuzz.h"

namespace deepinfer::ipc {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <typename Value>
void append(Bytes& bytes, const Value& value) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(value));
}

// Two submissions, the second with its descriptor in the arena; then two completions that are taken.
Bytes good_input() {
  Bytes bytes;
  append(bytes, std::uint32_t{2});  // published
  append(bytes, std::uint32_t{1});  // sleeping
  for (std::uint32_t i = 0; i < 2; ++i) {
    SubmissionHeader header;
    header.sequence = i;
    header.operation = static_cast<std::uint16_t>(Operation::kSubmit);
    header.user_data = 7;
    header.descriptor_offset = i == 0 ? kInline : 64;
    header.descriptor_bytes = 64;
    append(bytes, header);
    append(bytes, std::array<std::uint64_t, 8>{});
  }
  append(bytes, std::array<std::uint64_t, 40>{});  // both ends of the arena
  append(bytes, std::uint64_t{128});               // a span
  append(bytes, std::uint16_t{1000});
  for (std::uint32_t i = 0; i < 6; ++i) {
    append(bytes, i);                                 // consumed
    append(bytes, std::uint64_t{i} * 1000);           // released
    append(bytes, static_cast<std::uint16_t>(2000));  // a payload of half of it
  }
  return bytes;
}

void feed(const Bytes& bytes) { ASSERT_TRUE(slot_is_handled(bytes.data(), bytes.size())); }

TEST(SlotMutation, EveryByteOfSomeKindInEveryPlaceIsHandled) {
  const Bytes seed = good_input();
  feed(seed);
  constexpr std::uint8_t kBytes[]{0x00, 0x01, 0x7F, 0x80, 0xF8, 0xFF};
  for (std::size_t i = 0; i < seed.size(); ++i) {
    for (const std::uint8_t byte : kBytes) {
      Bytes bytes = seed;
      bytes[i] = byte;
      feed(bytes);
    }
  }
}

TEST(SlotMutation, EveryBeginningIsHandled) {
  const Bytes seed = good_input();
  for (std::size_t length = 0; length <= seed.size(); ++length) {
    feed(Bytes(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(length)));
  }
}

TEST(SlotMutation, RandomDamageIsHandled) {
  // A fixed seed: every run damages the same way.
  std::mt19937 random(20261201);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable on purpose
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = good_input();
    for (std::size_t edits = 1 + random() % 8; edits > 0; --edits) {
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    }
    feed(bytes);
  }
}

}  // namespace
}  // namespace deepinfer::ipc
