// The resolved configuration as JSON, with what is wrong with it: --check-config --json.
//
// Units:    sizes in bytes, times in seconds, permission bits as octal text
// Threads:  pure function
#pragma once

#include <string>

#include "config/load.h"

namespace deepinfer::daemon {

// One line: {"is_valid", "errors": [{"what", "where", "mend"}], "warnings": [...],
// "configuration": {section: {key: {"value", "origin"}}}}. "configuration" is null when there are errors.
[[nodiscard]] std::string config_report(const config::Loaded& loaded);

}  // namespace deepinfer::daemon
