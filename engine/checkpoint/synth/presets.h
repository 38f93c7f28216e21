// The configurations that checkpoints are generated for.
//
//   tiny  8 layers, hidden 512, 32 experts: every mechanism, for tests and the CPU
//   mid   12 layers, about 200 M active parameters, context 16K: CPU benchmarks
//   s8    8 full-width layers standing for 0, 1, 2, 3, 20, 21, 24, 25 of the released model
//   r4    all 40 layers with 96 experts; r8: with 48; Engram tables of about 1.05 M rows per head
//   full  as released
//
// Threads:  any thread.
// Errors:   kInvalidArgument for an unknown name, naming those there are
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace deepinfer::engine {

[[nodiscard]] std::span<const std::string_view> preset_names();

// The text of config.json, in the released spelling.
[[nodiscard]] Result<std::string> preset_config(std::string_view name);

}  // namespace deepinfer::engine
