// Names for the integers that must not be mixed up: enum classes, so that none converts to another.
//
// Threads:  plain values.
#pragma once

#include <cstdint>
#include <type_traits>

namespace deepinfer {

// An entry of the vocabulary, 0 .. vocabulary - 1.
enum class TokenId : std::int32_t {};

// A request as the engine counts them, from 1 on; never used twice in one process.
enum class RequestId : std::uint64_t {};

// A place in the table of sequence states, 0 .. slots - 1.
enum class SlotIndex : std::int32_t {};

// A block of 128 token positions in the paged caches, 0 .. blocks - 1.
enum class BlockId : std::int32_t {};

template <typename Id>
[[nodiscard]] constexpr auto value_of(Id id) noexcept {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace deepinfer
