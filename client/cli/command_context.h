// What every command is given: where results and messages go, time, the engine, the environment.
//
// A test passes string streams, a manual clock and a scripted engine.
// Lifetime: everything here outlives the command
// Threads:  confined to one thread
#pragma once

#include <functional>
#include <ostream>

#include "base/clock.h"
#include "client/cli/deadline.h"
#include "client/cli/runner.h"
#include "config/environment.h"

namespace deepinfer::cli {

struct CommandContext {
  std::ostream& out;  // results
  std::ostream& err;  // messages and progress
  const Clock& clock;
  std::function<std::chrono::system_clock::time_point()> calendar;
  std::function<int()> stop_signal;  // the number of a signal that asked to stop, or 0
  OpenRunner open_runner;
  config::Variables environment;
  bool err_is_terminal = false;

  [[nodiscard]] Moment now() const { return {clock.now(), calendar()}; }
};

}  // namespace deepinfer::cli
