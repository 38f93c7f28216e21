// deepinfer drain and undrain: the daemon stops taking requests, and takes them again.
//
// Threads:  confined to one thread
#pragma once

#include <string>

#include "client/cli/command_context.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace deepinfer::cli {

struct DrainArguments {
  std::string socket;   // empty: from the environment, else the default one
  std::string timeout;  // empty: none
  bool is_waiting = false;
  bool is_json = false;
};

void add_drain(CLI::App& command, DrainArguments& arguments);
void add_undrain(CLI::App& command, DrainArguments& arguments);

// Return the exit code; messages and results have gone to the context's streams.
[[nodiscard]] int run_drain(const DrainArguments& arguments, const CommandContext& context);
[[nodiscard]] int run_undrain(const DrainArguments& arguments, const CommandContext& context);

}  // namespace deepinfer::cli
