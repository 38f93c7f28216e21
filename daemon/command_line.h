// The command line of deepinferd: flags -> the configuration to serve with, or everything printed.
//
// Errors:   printed, all at once: "deepinferd: error: WHAT (WHERE): HOW TO MEND", exit code 2
// Threads:  confined to one thread
#pragma once

#include <ostream>
#include <span>
#include <variant>

#include "config/load.h"
#include "daemon/log.h"

namespace deepinfer::daemon {

// Exit codes of docs/reference/exit-codes.md.
inline constexpr int kExitDone = 0;
inline constexpr int kExitUsage = 2;

// What the program is given by its caller.
struct ProgramContext {
  std::ostream& out;
  std::ostream& err;
  const config::Variables& environment;
};

// What to serve with: no problems are left in it. Its warnings have been printed.
struct ServeOrder {
  config::Loaded loaded;
  Log::Terminal terminal = Log::Terminal::kNo;
};

// `arguments` without the program's name. An exit code when there is nothing left to do.
[[nodiscard]] std::variant<ServeOrder, int> read_command_line(
    std::span<const char* const> arguments, const ProgramContext& context);

// The one form of a message before there is a log. Errors have it on standard error, on one line.
void print_problem(std::ostream& err, const config::Problem& problem);

}  // namespace deepinfer::daemon
