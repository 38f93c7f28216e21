// Options from TOML text: sections and keys, all problems at once with line and column.
//
// Errors:   every key that cannot be used is a problem, in the order of the text; text that is not TOML is
//           one problem and hides what follows it
// Threads:  pure function but for the look-up of users and groups
#pragma once

#include <string>
#include <string_view>

#include "config/assignments.h"

namespace deepinfer::config {

// `name` is what problems and origins call the text: a path.
void apply_toml(std::string_view text, const std::string& name, Assignments& state);

}  // namespace deepinfer::config
