// The engine's options from the environment and the flags, or every problem with them.
//
// Threads:  pure functions but for the messages
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/command_context.h"
#include "client/cli/runner.h"

namespace deepinfer::cli {

// The flags that choose where the work is done.
struct PlaceArguments {
  bool is_embedded = false;
  std::string model;   // checkpoint folder; empty: from the environment
  std::string socket;  // of a daemon
};

// Problems that were found earlier are printed together with those of the environment.
// Returns nothing, with an exit code in `exit_code`, when there is anything wrong.
[[nodiscard]] std::optional<EngineOptions> embedded_options(const PlaceArguments& place,
                                                            std::vector<config::Problem> problems,
                                                            const CommandContext& context,
                                                            int& exit_code);

// Null when the engine cannot be opened; every problem has been printed then.
[[nodiscard]] std::unique_ptr<Runner> open_runner(const EngineOptions& options,
                                                  const CommandContext& context, int& exit_code);

}  // namespace deepinfer::cli
