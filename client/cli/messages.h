// The one form of every message: "deepinfer: error: WHAT (WHERE): HOW TO MEND", on one line.
//
// Inside the command line, an Error's message is that line without the prefix.
// Threads:  messages go out from one thread
#pragma once

#include <ostream>
#include <string>

#include "base/result.h"
#include "config/problem.h"

namespace deepinfer::cli {

// Exit codes of docs/reference/exit-codes.md.
inline constexpr int kExitDone = 0;
inline constexpr int kExitSomeFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoDaemon = 3;
inline constexpr int kExitRefused = 5;
inline constexpr int kExitSignal = 128;  // plus the signal's number

// An Error whose message is "WHAT (WHERE): HOW TO MEND".
[[nodiscard]] Error usage_error(std::string what, std::string where, std::string mend);

void print_error(std::ostream& err, const std::string& line);
void print_warning(std::ostream& err, const config::Problem& problem);

}  // namespace deepinfer::cli
