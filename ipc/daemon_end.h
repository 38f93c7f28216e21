// The daemon's end of a session's shared memory: creates it, takes submissions, publishes completions.
//
// Nothing here believes the client: sizes and own indices are private copies, a slot and a descriptor
// are copied once and then checked, and a peer's index that leaves its window ends the session.
// Threads:  confined to the loop thread
// Lifetime: the memory goes with the object, whatever the client still maps
// Cost:     take(): one copy of at most 1 KiB, and of the descriptor where it lies in the arena; publish():
//           one copy of the payload
// Errors:   kDataLoss the client broke the protocol: close the session; kResourceExhausted
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "ipc/layout.h"
#include "ipc/session_memory.h"
#include "ipc/span_arena.h"

namespace deepinfer::ipc {

// A submission as copied out of shared memory.
struct Submission {
  Operation operation = Operation::kNothing;
  std::uint64_t user_data = 0;
  std::vector<std::uint64_t> descriptor;  // words
  std::string problem;                    // not empty: refuse this one alone, `bad_descriptor`
};

class DaemonEnd final {
 public:
  [[nodiscard]] static Result<std::unique_ptr<DaemonEnd>> create(const Geometry& geometry,
                                                                 std::uint64_t session,
                                                                 std::uint64_t epoch);
  // For tests: over memory that outlives it, and perhaps the client's end works on too. Without segments.
  [[nodiscard]] static std::unique_ptr<DaemonEnd> over(const DaemonMemory& memory,
                                                       FileDescriptor doorbell);
  DaemonEnd(const DaemonEnd&) = delete;
  DaemonEnd& operator=(const DaemonEnd&) = delete;
  ~DaemonEnd();

  // c2d, d2c, doorbell: sent with Welcome. The first two are closed by forget_client_descriptors().
  [[nodiscard]] std::array<int, 3> client_descriptors() const;
  void forget_client_descriptors();
  [[nodiscard]] int doorbell() const;

  // Copies the next submission into `out` (whose buffer is reused). False when there is none.
  [[nodiscard]] Result<bool> take(Submission& out);
  // Copies a span of the request arena; kInvalidArgument when it does not lie inside.
  [[nodiscard]] Status copy_span(Span span, std::span<std::byte> out) const;

  // Writes a completion and its payload (at most kMaxPayloadBytes, and result_bytes / 2). False: no
  // room now. The client is not woken: see wake().
  [[nodiscard]] Result<bool> publish(CompletionKind kind, std::uint64_t user_data,
                                     std::span<const std::byte> payload);
  // Wakes the client if it sleeps. Once after any number of publish().
  void wake();

  // Before the loop sleeps: true when nothing was submitted, and then the client rings. False: take()
  // again. After waking: end_sleep().
  [[nodiscard]] bool prepare_sleep();
  void end_sleep();

  void set_flags(std::uint32_t flags);  // kFlag...; wakes the client
  [[nodiscard]] const Geometry& geometry() const;

 private:
  struct Parts;
  explicit DaemonEnd(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace deepinfer::ipc
