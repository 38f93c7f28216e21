// The socket to serve on: the service manager's, or one of our own.
//
// Errors:   a Problem for people, with the exit code that belongs to it
// Threads:  at start, once
#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "config/environment.h"
#include "config/options.h"
#include "config/problem.h"
#include "ipc/socket.h"

namespace deepinfer::daemon {

struct StartFailure {
  config::Problem problem;
  int exit_code = 2;
};

struct Listening {
  ipc::Listener listener;
  std::string where;  // the path, or the unit's socket
};

// ipc.socket; else the system's path for root, or where its folder can be written; else the user's.
[[nodiscard]] std::filesystem::path socket_path(const config::IpcSection& ipc);

// Takes the service manager's socket if there is one.
[[nodiscard]] std::variant<Listening, StartFailure> start_listening(
    const config::IpcSection& ipc, const config::Variables& environment);

}  // namespace deepinfer::daemon
