// The client's end of a session's shared memory: writes submissions, takes completions.
//
// Threads:  submitting (submit, arena) and receiving (next, wait) are each confined to one thread at a time;
//           the two may run together
// Lifetime: what was published before the daemon died can still be taken
// Cost:     submit(): one copy of the descriptor, and a write() when the daemon sleeps
// Errors:   kInvalidArgument descriptors that are not what Welcome promised; kDataLoss the daemon broke
//           the protocol: give the session up
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "ipc/layout.h"
#include "ipc/session_memory.h"
#include "ipc/span_arena.h"

namespace deepinfer::ipc {

struct SessionDescriptors {
  FileDescriptor c2d;
  FileDescriptor d2c;
  FileDescriptor doorbell;
};

class ClientEnd final {
 public:
  // Checks sizes and seals, maps both segments, closes what is no longer needed.
  [[nodiscard]] static Result<std::unique_ptr<ClientEnd>> attach(SessionDescriptors descriptors,
                                                                 const Geometry& geometry,
                                                                 std::uint64_t session);
  // For tests: over memory that outlives it, and perhaps the daemon's end works on too. Without segments.
  [[nodiscard]] static Result<std::unique_ptr<ClientEnd>> over(const ClientMemory& memory,
                                                               FileDescriptor doorbell);
  ClientEnd(const ClientEnd&) = delete;
  ClientEnd& operator=(const ClientEnd&) = delete;
  ~ClientEnd();

  // For prompts and for descriptors above kMaxInlineBytes; freed when the request is accepted or refused.
  [[nodiscard]] SpanArena& arena();

  // Publishes a submission and rings if the daemon sleeps. False: the ring is full. A descriptor above
  // kMaxInlineBytes must lie in the arena: then `span` is where.
  [[nodiscard]] Result<bool> submit(Operation operation, std::uint64_t user_data,
                                    std::span<const std::uint64_t> descriptor);
  [[nodiscard]] Result<bool> submit_from_arena(Operation operation, std::uint64_t user_data,
                                               Span descriptor);

  // Copies the next completion and its payload, and gives their room back. False when there is none.
  [[nodiscard]] Result<bool> next(Completion& completion, std::vector<std::byte>& payload);
  // Until there is a completion or a flag changes, at most `timeout`: first busy for at most `spin`, then
  // asleep. A timeout is an ordinary outcome; so is waking for nothing.
  void wait(std::chrono::nanoseconds timeout, std::chrono::nanoseconds spin);

  [[nodiscard]] std::uint32_t flags() const;  // kFlag...

 private:
  struct Parts;
  explicit ClientEnd(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace deepinfer::ipc
