// The node daemon's engine as a Runner, and the daemon itself as a Control.
//
// Neither waits for a daemon that is away: the command ends instead, and says how to go on.
// Threads:  confined to one thread
#pragma once

#include <filesystem>
#include <memory>

#include "client/cli/control.h"
#include "client/cli/runner.h"

namespace deepinfer::cli {

[[nodiscard]] std::unique_ptr<Runner> open_daemon(const DaemonSession& session, ClientError& error);
[[nodiscard]] std::unique_ptr<Control> open_control(const std::filesystem::path& socket,
                                                    ClientError& error);

}  // namespace deepinfer::cli
