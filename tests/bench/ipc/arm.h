// One way to carry a job to a server process and its answer back: what the benchmark compares.
//
// In every arm the same message goes there (the 64-byte header of a submission and a descriptor), is copied
// to private memory and decoded under the codec's limits, and 64 bytes come back.
// Threads:  prepare() before the fork, serve() in the server's process, the rest in the client's
// Lifetime: an object serves one measurement
// Errors:   what the system or the peer refused, in words
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "tests/bench/ipc/job.h"

namespace deepinfer::bench {

class Arm {
 public:
  Arm() = default;
  Arm(const Arm&) = delete;
  Arm& operator=(const Arm&) = delete;
  virtual ~Arm() = default;

  // Makes what both processes inherit.
  [[nodiscard]] virtual Status prepare() = 0;
  // The server: answers until the client ends.
  [[nodiscard]] virtual Status serve(const Job& job) = 0;

  // The client: takes its end, keeps `job` until finish().
  [[nodiscard]] virtual Status connect(const Job& job) = 0;
  // False: no room now.
  [[nodiscard]] virtual Result<bool> send(std::uint64_t number) = 0;
  // Waits until at least one answer is there; how many were taken. Answers come in order.
  [[nodiscard]] virtual Result<std::uint64_t> receive() = 0;
  // Ends the server.
  virtual void finish() = 0;
};

struct ArmChoice {
  std::string name;  // of the report's field
  std::string text;  // of the table
  std::function<std::unique_ptr<Arm>()> make;
  // Whether the client is not pinned to its own processor but may also use the server's: one that may use
  // a single processor does not spin.
  bool may_use_both = false;
};

}  // namespace deepinfer::bench
