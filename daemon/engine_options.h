// The engine's options from the configuration.
//
// Threads:  pure function
#pragma once

#include <deepinfer/engine.h>

#include "config/options.h"

namespace deepinfer::daemon {

[[nodiscard]] EngineOptions engine_options(const config::Options& options);

}  // namespace deepinfer::daemon
