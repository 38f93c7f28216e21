// JSON as Python writes it by default, without escaping non-ASCII: what the model was trained on.
//
// Separators ", " and ": ", keys in their order, floats by their shortest digits. Numbers of a text
// keep every digit; those of a parsed value are what the parser kept.
//
// Threads:  pure functions
// Errors:   kInvalidArgument for a value nested deeper than kMaxJsonDepth
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace deepinfer::engine {

// The order of keys is part of a prompt.
using Json = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 200;  // far above real schemas, far below the stack's end

[[nodiscard]] Result<std::string> python_json(const Json& value);

// The same from text; nothing when it is not JSON.
[[nodiscard]] std::optional<std::string> reformat_json(std::string_view text);

// A value that is a string by its characters, any other as JSON.
struct JsonMember {
  std::string key;
  bool is_string = false;
  std::string value;
  friend bool operator==(const JsonMember&, const JsonMember&) = default;
};

// The members of an object. A repeated key keeps its first place and its last value.
[[nodiscard]] Result<std::vector<JsonMember>> json_members(const Json& object);
// The same from text; nothing when it is not a JSON object.
[[nodiscard]] std::optional<std::vector<JsonMember>> parse_members(std::string_view text);

// A string as a JSON string.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace deepinfer::engine
