// Ours: a session's shared memory between two processes, as deepinferd and its clients use it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "tests/bench/ipc/arm.h"

namespace deepinfer::bench {

enum class ServerWait : std::uint8_t {
  kSleeps,  // as deepinferd: epoll on the doorbell as soon as the ring is empty
  kSpins,   // looks at the ring for as long as a client would before it sleeps; deepinferd does not
};

struct RingOptions {
  // The client's longest busy wait, which switches itself off as in a Client. Zero: never.
  std::chrono::microseconds client_spin{0};
  ServerWait server = ServerWait::kSleeps;
};

[[nodiscard]] std::unique_ptr<Arm> make_ring_arm(RingOptions options);

}  // namespace deepinfer::bench
