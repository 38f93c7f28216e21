// Cap'n Proto messages <-> plain values: the only place that knows ipc/protocol.capnp.
//
// A message is one segment without a segment table, in 8-byte words. Decoding reads a private copy under
// limits that follow from the message's own size (traversal 4 words for each word, nesting 8), checks
// every list before it is walked and every number before it is used, and never throws. What a peer of a
// newer minor version appends is ignored.
// Threads:  pure functions
// Cost:     linear; for a usual descriptor below 0.1 us to encode and 0.2 us to decode, for 64 KiB of
//           result 1 and 2 us. A damaged message costs 7 us (an exception of the library)
// Errors:   kInvalidArgument what is wrong with the message, in words that are safe to log
// Source:   capnproto.org/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "ipc/messages.h"

namespace deepinfer::ipc {

using Words = std::vector<std::uint64_t>;
using WordView = std::span<const std::uint64_t>;

// What one segment of Cap'n Proto can surely hold. A message that would take more becomes an empty one,
// which no decoder takes.
inline constexpr std::size_t kMostMessageBytes = 512U << 20U;

// Submissions and completions. `words` is overwritten; its memory is used again.
void encode(const SubmitMessage& message, Words& words);
[[nodiscard]] Result<SubmitMessage> decode_submit(WordView words);
// Of a result of more than `most_bytes` only the seeds are told, each choice with the error
// `result_too_large`.
void encode(const RequestResult& result, Words& words, std::size_t most_bytes = kMostMessageBytes);
[[nodiscard]] Result<RequestResult> decode_result(WordView words);
void encode(const RequestError& error, Words& words);
[[nodiscard]] Result<RequestError> decode_error(WordView words);
void encode(const TokenEvent& event, Words& words);
[[nodiscard]] Result<TokenEvent> decode_token(WordView words);

// Datagrams of the socket.
void encode(const Hello& hello, Words& words);
[[nodiscard]] Result<Hello> decode_hello(WordView words);
void encode(const HelloReply& reply, Words& words);
[[nodiscard]] Result<HelloReply> decode_hello_reply(WordView words);
void encode(const ControlRequest& request, Words& words);
[[nodiscard]] Result<ControlRequest> decode_control_request(WordView words);
void encode(const ControlReply& reply, Words& words);
[[nodiscard]] Result<ControlReply> decode_control_reply(WordView words);

// Between bytes of a datagram or payload and words. kInvalidArgument when not a whole number of words.
[[nodiscard]] Result<Words> to_words(std::span<const std::byte> bytes);
[[nodiscard]] inline std::span<const std::byte> bytes_of(WordView words) {
  return std::as_bytes(words);
}

}  // namespace deepinfer::ipc
