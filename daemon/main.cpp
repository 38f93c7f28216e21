// The program deepinferd: gives the daemon the real world.
#include <csignal>
#include <cstddef>
#include <iostream>
#include <span>
#include <variant>

#include "base/clock.h"
#include "config/environment.h"
#include "daemon/app.h"
#include "daemon/command_line.h"
#include "daemon/log.h"

int main(int count, char** words) {
  namespace daemon = deepinfer::daemon;
  // Writing where nobody reads any more, or beyond a limit, is an error of the call, not the end.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));

  const deepinfer::config::Variables environment = deepinfer::config::process_environment();
  const std::span<const char* const> all(words, static_cast<std::size_t>(count));
  const auto order = daemon::read_command_line(all.subspan(all.empty() ? 0 : 1),
                                               {std::cout, std::cerr, environment});
  const auto* serve = std::get_if<daemon::ServeOrder>(&order);
  if (serve == nullptr) return *std::get_if<int>(&order);

  const deepinfer::SteadyClock clock;
  const auto log = daemon::Log::open(serve->loaded.options.log, serve->terminal, clock);
  if (!log) {
    daemon::print_problem(std::cerr, {log.error().message, "log.file",
                                      "name a file in a folder that can be written to"});
    return daemon::kExitUsage;
  }
  return daemon::run_daemon(serve->loaded, **log, environment);
}
