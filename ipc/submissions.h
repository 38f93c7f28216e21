// The ring of submissions: the client writes slots, the daemon takes them. Internal to ipc/.
//
// Nothing the client can write is believed: docs/shared-memory.md lists each check and its test.
// Threads:  one writer, one reader; each confined to one thread
// Lifetime: the memory outlives both
// Errors:   kDataLoss the other side broke the protocol, for good; kInvalidArgument a descriptor that no
//           slot could carry
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "ipc/daemon_end.h"
#include "ipc/layout.h"
#include "ipc/ring.h"
#include "ipc/session_memory.h"

namespace deepinfer::ipc {

// The client's side.
class SubmissionWriter {
 public:
  explicit SubmissionWriter(const ClientMemory& memory);

  // Publishes one. `descriptor` goes into the slot unless it lies in the arena, at `offset`. False: full.
  [[nodiscard]] Result<bool> write_inline(Operation operation, std::uint64_t user_data,
                                          std::span<const std::uint64_t> descriptor);
  [[nodiscard]] Result<bool> write_from_arena(Operation operation, std::uint64_t user_data,
                                              Span descriptor);

 private:
  [[nodiscard]] Result<bool> has_room();
  void publish(SubmissionHeader header, std::span<const std::byte> inline_bytes);

  const ClientMemory memory_;
  std::uint32_t published_;
  std::uint64_t progress_ = 0;
  PeerIndex<std::uint32_t> consumed_;
  std::optional<Error> broken_;
};

// The daemon's side.
class SubmissionReader {
 public:
  explicit SubmissionReader(const DaemonMemory& memory);

  [[nodiscard]] Result<bool> take(Submission& out);
  [[nodiscard]] Status copy_span(Span span, std::span<std::byte> out) const;
  // One look at the client's index, which is not believed yet: for going to sleep.
  [[nodiscard]] bool has_news() const;

 private:
  void read_slot(Submission& out, const SubmissionHeader& header);
  [[nodiscard]] Error break_off(std::string reason);

  const DaemonMemory memory_;
  std::uint32_t consumed_;
  PeerIndex<std::uint32_t> published_;
  std::optional<Error> broken_;
};

}  // namespace deepinfer::ipc
