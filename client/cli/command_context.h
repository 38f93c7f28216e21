// What every command is given: where results and messages go, time, the engine, the daemon, the
// environment.
//
// A test passes string streams, a manual clock, a scripted engine and a scripted daemon.
// Lifetime: everything here outlives the command
// Threads:  confined to one thread
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/cli/control.h"
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
  // Waits so long, or until such a signal comes.
  std::function<void(std::chrono::milliseconds)> pause;
  OpenEmbedded open_embedded;
  OpenDaemon open_daemon;
  OpenControl open_control;
  config::Variables environment;
  std::filesystem::path program_folder;  // of the running program
  // Becomes another program, with its name as the first word. Comes back only with errno.
  std::function<int(const std::filesystem::path&, const std::vector<std::string>&)> become;
  bool err_is_terminal = false;

  [[nodiscard]] Moment now() const { return {clock.now(), calendar()}; }
};

}  // namespace deepinfer::cli
