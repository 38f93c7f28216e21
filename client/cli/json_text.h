// JSON text -> a document, more strictly than the parser alone: no key twice in one object, nesting
// at most kDeepestNesting, no byte order mark, UTF-8 only.
//
// Errors:   kInvalidArgument with the byte where it went wrong
// Threads:  pure function
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace deepinfer::cli {

// Deep enough for any schema, shallow enough for every recursive walk.
inline constexpr int kDeepestNesting = 100;

[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text);

// `text` with U+FFFD for what is not UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace deepinfer::cli
