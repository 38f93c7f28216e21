// The job that every arm carries: a chat request as the command line would submit it, without its text.
//
// Units:    bytes; words of 8 bytes
// Threads:  plain values
// Errors:   kInternal the codec does not read what it wrote
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "ipc/codec.h"
#include "ipc/layout.h"

namespace deepinfer::bench {

inline constexpr std::size_t kAnswerBytes = 64;

// A message of the socket and of the queue, laid out as a submission slot is.
struct Message {
  ipc::SubmissionHeader header;
  std::array<std::uint64_t, ipc::kMaxInlineBytes / 8> descriptor{};
};
static_assert(sizeof(Message) == ipc::kSubmissionSlotBytes);

// 64 bytes, as a completion slot has.
struct Answer {
  std::uint64_t number = 0;
  std::array<std::uint64_t, 7> rest{};
};
static_assert(sizeof(Answer) == kAnswerBytes && kAnswerBytes == ipc::kCompletionSlotBytes);

struct Job {
  ipc::Words descriptor;
};

// Encoded once: what is measured is the way, and the decoding on the other side.
[[nodiscard]] Result<Job> make_job();

// The message that carries `job`, for the arms that are not the ring.
[[nodiscard]] Message message_of(const Job& job);
[[nodiscard]] inline std::size_t message_bytes(const Job& job) {
  return sizeof(ipc::SubmissionHeader) + ipc::bytes_of(job.descriptor).size();
}

// The server's work in every arm: decodes a private copy. Nothing when it is no job of ours.
[[nodiscard]] bool decode(ipc::WordView descriptor);
// The same for a received message of `size_bytes`; its number.
[[nodiscard]] std::optional<std::uint64_t> decode(const Message& message, std::size_t size_bytes);

}  // namespace deepinfer::bench
