// SIGINT and SIGTERM as something to ask for between two steps, so that a run ends cleanly.
//
// Threads:  create it before other threads start: they inherit that these signals wait
// Lifetime: the signals act as usual again when it goes
#pragma once

#include <chrono>
#include <csignal>

namespace deepinfer::cli {

class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // The number of a signal that came since the last call, or 0.
  [[nodiscard]] int poll();
  // Until a signal comes, which the next poll() names, or the time is over.
  void wait(std::chrono::milliseconds time);
  // For a program that takes this one's place: the signals act as usual from now on.
  void restore();

 private:
  sigset_t waiting_{};
  sigset_t before_{};
  int seen_ = 0;  // by wait(), not yet by poll()
};

}  // namespace deepinfer::cli
