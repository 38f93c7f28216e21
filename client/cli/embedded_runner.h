// The engine inside this process as a Runner.
//
// Threads:  as deepinfer::Engine
#pragma once

#include <memory>

#include "client/cli/runner.h"

namespace deepinfer::cli {

[[nodiscard]] std::unique_ptr<Runner> open_embedded(const EngineOptions& options,
                                                    EngineError& error);

}  // namespace deepinfer::cli
