// The program deepinfer: reads the command line and runs the command it names.
//
// Threads:  confined to one thread
#pragma once

#include <span>

#include "client/cli/command_context.h"

namespace deepinfer::cli {

// `arguments` without the program's name. Returns the exit code.
[[nodiscard]] int run_app(std::span<const char* const> arguments, const CommandContext& context);

}  // namespace deepinfer::cli
