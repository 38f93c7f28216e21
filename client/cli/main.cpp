// The program deepinfer: gives the commands the real world.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <iostream>
#include <span>

#include <unistd.h>

#include "client/cli/app.h"
#include "client/cli/embedded_runner.h"
#include "client/cli/stop_signals.h"

int main(int count, char** words) {
  // A file that grows beyond its limit is an error of write(), reported like a full disk.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  const deepinfer::cli::StopSignals signals;
  const deepinfer::SteadyClock clock;
  const deepinfer::cli::CommandContext context{
      std::cout,
      std::cerr,
      clock,
      [] { return std::chrono::system_clock::now(); },
      [&signals] { return signals.poll(); },
      deepinfer::cli::open_embedded,
      deepinfer::config::process_environment(),
      isatty(STDERR_FILENO) == 1,
  };
  const std::span<const char* const> all(words, static_cast<std::size_t>(count));
  return deepinfer::cli::run_app(all.subspan(all.empty() ? 0 : 1), context);
}
