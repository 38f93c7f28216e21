// The ring of completions and the byte ring of their payloads: the daemon writes, the client takes.
// Internal to ipc/.
//
// A payload lies in one piece; where it does not fit before the result arena's end, it begins at the
// arena's begin and what is left over is given back with it. Positions in the arena run freely, as indices.
// Threads:  one writer, one reader; each confined to one thread
// Lifetime: the memory outlives both
// Errors:   kDataLoss the other side broke the protocol, for good; kInvalidArgument a payload above the limit
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ipc/layout.h"
#include "ipc/ring.h"
#include "ipc/session_memory.h"

namespace deepinfer::ipc {

// The daemon's side.
class CompletionWriter {
 public:
  explicit CompletionWriter(const DaemonMemory& memory);

  [[nodiscard]] Result<bool> publish(CompletionKind kind, std::uint64_t user_data,
                                     std::span<const std::byte> payload);

 private:
  // Copies the payload and says where it lies. False: no room.
  [[nodiscard]] Result<bool> place(std::span<const std::byte> payload, Completion& completion);
  [[nodiscard]] std::uint64_t bytes_to_skip(std::uint64_t bytes) const;
  [[nodiscard]] Error break_off(std::string reason);

  const DaemonMemory memory_;
  std::uint32_t published_;
  std::uint64_t end_;  // of the last payload
  PeerIndex<std::uint32_t> consumed_;
  PeerIndex<std::uint64_t> released_;
  std::optional<Error> broken_;
};

// The client's side.
class CompletionReader {
 public:
  explicit CompletionReader(const ClientMemory& memory);

  [[nodiscard]] Result<bool> next(Completion& completion, std::vector<std::byte>& payload);
  [[nodiscard]] bool has_news() const;

 private:
  [[nodiscard]] std::string problem_of(const Completion& completion) const;
  [[nodiscard]] Error break_off(std::string reason);

  const ClientMemory memory_;
  std::uint32_t consumed_;
  std::uint64_t released_;
  PeerIndex<std::uint32_t> published_;
  std::optional<Error> broken_;
};

}  // namespace deepinfer::ipc
