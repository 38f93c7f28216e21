// JSON text -> a tree, and every key that an object holds twice.
//
// The library keeps the last of two equal keys without a word; a file that says two things about one
// tensor must be refused instead.
//
// Limits:   nesting up to 64 levels, so that no input exhausts the stack of whoever walks the tree
// Threads:  any thread. Cost: linear in the text.
// Errors:   `error` says what is wrong and at which byte; nothing throws
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace deepinfer::engine {

// NOLINTNEXTLINE(bugprone-exception-escape): the tree's move asserts, which is taken for a throw.
struct StrictJson {
  nlohmann::json value;
  std::optional<std::string> error;     // set when the text is not JSON; value is null then
  std::vector<std::string> duplicates;  // keys met again inside one object, in order of the text
};

[[nodiscard]] StrictJson parse_strict_json(std::string_view text);

// A value as it would stand in the text, cut to what fits a message.
[[nodiscard]] std::string shown(const nlohmann::json& value);

}  // namespace deepinfer::engine
