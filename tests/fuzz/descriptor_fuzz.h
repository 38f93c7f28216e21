// What must hold for any bytes that are given to the codec as a message.
//
// The bytes become words; what is left of the last word is dropped, and the whole goes to every decoder of
// its direction. Each decodes it or says in words that are safe to log what is wrong, and what was decoded
// can be encoded and decoded again without a change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepinfer::ipc {

// Descriptors of submissions, which a client leaves in shared memory.
[[nodiscard]] bool submit_is_handled(const std::uint8_t* data, std::size_t size);
// Datagrams that a client sends.
[[nodiscard]] bool datagram_is_handled(const std::uint8_t* data, std::size_t size);
// Everything that a daemon sends.
[[nodiscard]] bool answer_is_handled(const std::uint8_t* data, std::size_t size);

}  // namespace deepinfer::ipc
