// The resolved configuration as TOML, each value with its origin as a comment: --check-config.
//
// What it prints can be read back by load() and gives the same Options.
// Threads:  pure function
#pragma once

#include <string>

#include "config/load.h"

namespace deepinfer::config {

[[nodiscard]] std::string to_toml(const Loaded& loaded);

}  // namespace deepinfer::config
