// Whether bytes are UTF-8: what a TOML file, a JSON report and a log line can hold.
//
// Threads:  pure functions
#pragma once

#include <string_view>

namespace deepinfer::config {

// Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace deepinfer::config
