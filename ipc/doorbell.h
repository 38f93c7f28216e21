// Wakes the other side: an eventfd towards the daemon, a futex word towards the client.
//
// A wake-up is a hint: who wakes looks at the ring again. The daemon never writes a descriptor that a
// client also holds, and reads it only without blocking whatever the client did to its flags.
// Threads:  any
// Errors:   kFailedPrecondition the kernel lacks what is needed (before 5.8); kResourceExhausted
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace deepinfer::ipc {

[[nodiscard]] Result<FileDescriptor> create_doorbell();
// Client: never blocks longer than the kernel takes; a saturated counter is as good as a ring.
void ring_doorbell(int descriptor);
// Daemon: takes what has been rung, by preadv2(RWF_NOWAIT). True when something was.
bool drain_doorbell(int descriptor);
// Whether drain_doorbell() works on this kernel; asked once at start.
[[nodiscard]] Status probe_doorbell();

// Sleeps until `word` is no longer `seen`, somebody wakes it, or `timeout` has passed. The word may lie in
// a read-only mapping.
void wait_on_word(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                  std::chrono::nanoseconds timeout);
void wake_word(std::atomic<std::uint32_t>& word);

}  // namespace deepinfer::ipc
