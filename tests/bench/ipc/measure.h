// Measures one arm once: a server process, the client in this one, each on its processor.
//
// Units:    microseconds
// Threads:  confined to one thread; forks, so no other thread may run
// Errors:   what the arm said; a server that does not end within seconds is killed; one that never
//           answers ends this process through a timer
#pragma once

#include <cstdint>

#include "base/result.h"
#include "tests/bench/ipc/arm.h"

namespace deepinfer::bench {

struct Placement {
  int client = 0;  // processors
  int server = 1;
  bool may_use_both = false;  // ArmChoice::may_use_both
};

struct Plan {
  std::uint64_t samples = 2000;  // of the round trip, one job at a time
  std::uint64_t jobs = 50'000;   // of the throughput
  std::uint64_t depth = 64;      // jobs under way in it
};

struct Sample {
  double p50 = 0;
  double p99 = 0;
  double jobs_per_second = 0;
  double moved_share = 0;  // of the checks: the client was beside its server, and was moved back
};

[[nodiscard]] Result<Sample> measure(Arm& arm, const Job& job, const Plan& plan,
                                     Placement placement);

}  // namespace deepinfer::bench
