// The daemon as a whole: builds every part once, hands each its dependencies, and takes them down in order.
//
// Order of building: listener, loop, engine's thread, jobs, gateway, control, clients; of taking down: the
// reverse, once no encoding is on the pool.
// Threads:  run_daemon() is the loop's thread until it returns
// Errors:   the exit code of docs/reference/exit-codes.md, with its reason in the log
#pragma once

#include <functional>

#include "config/environment.h"
#include "config/load.h"
#include "daemon/model_engine.h"

namespace deepinfer::daemon {

class Log;

// Serves until it is told to stop. The exit code.
[[nodiscard]] int run_daemon(const config::Loaded& loaded, Log& log,
                             const config::Variables& environment);

}  // namespace deepinfer::daemon
