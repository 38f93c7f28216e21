// Where the work is done: by an engine inside the command, or by the node daemon.
//
// Flags win over the environment. The daemon's clients use DEEPINFER_IPC__SOCKET alone of it.
// Errors:   every problem of flags and environment is printed at once
// Threads:  pure functions but for the messages
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/cli/command_context.h"
#include "client/cli/runner.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace deepinfer::cli {

struct PlaceArguments {
  bool is_embedded = false;
  std::string model;   // checkpoint folder; empty: from the environment
  std::string socket;  // of the daemon; empty: from the environment, else the default one
};

// --embedded, --model and --socket.
void add_place(CLI::App& command, PlaceArguments& arguments);
// --socket alone.
void add_socket(CLI::App& command, std::string& socket);

struct DaemonPlace {
  std::filesystem::path socket;  // empty: the default one
};
using Place = std::variant<EngineOptions, DaemonPlace>;

// Problems that were found earlier are printed together with those of the environment. Nothing,
// and kExitUsage, when there is any.
[[nodiscard]] std::optional<Place> place_of(const PlaceArguments& arguments,
                                            std::vector<config::Problem> problems,
                                            const CommandContext& context);
[[nodiscard]] std::optional<DaemonPlace> daemon_place(const std::string& socket,
                                                      std::vector<config::Problem> problems,
                                                      const CommandContext& context);

// Null when it cannot be opened; every problem has been printed then. `session` is for a daemon,
// its socket is filled in.
[[nodiscard]] std::unique_ptr<Runner> open_runner(const Place& place, DaemonSession session,
                                                  const CommandContext& context, int& exit_code);
[[nodiscard]] std::unique_ptr<Control> open_control(const DaemonPlace& place,
                                                    const CommandContext& context, int& exit_code);

}  // namespace deepinfer::cli
