// A TOML value as the text that a setting takes, or what type it should have had.
//
// Errors:   kInvalidArgument with the expected and the actual type
// Threads:  pure function
#pragma once

#include <string>

#include "base/result.h"
#include "config/settings.h"
#include "config/toml_file.h"

namespace deepinfer::config {

// The text is one for apply_setting().
[[nodiscard]] Result<std::string> text_of(const Setting& setting, const TomlValue& value);

}  // namespace deepinfer::config
