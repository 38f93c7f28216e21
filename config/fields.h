// Where the value of each applied key lies in Options, and what it may be.
//
// Errors:   kInvalidArgument with what was expected
// Threads:  pure functions over a constant table, but that names of users and groups are looked up
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "config/options.h"
#include "config/settings.h"

namespace deepinfer::config {

using FieldRef = std::variant<std::int64_t*, std::optional<std::int64_t>*, std::uint32_t*,
                              std::string*, std::vector<std::uint32_t>*, std::chrono::milliseconds*,
                              Backend*, LogprobsMode*, LogLevel*, LogFormat*>;

enum class Shape : std::uint8_t { kAny, kPowerOfTwo, kWholePages, kSocketPath };

struct Field {
  std::string_view key;
  FieldRef (*in)(Options&) = nullptr;
  std::int64_t least = 0;  // of numbers
  std::int64_t most = 0;
  Shape shape = Shape::kAny;
};

// Every applied key, in the order of known_settings().
[[nodiscard]] std::span<const Field> fields();
// Null when the key is not applied.
[[nodiscard]] const Field* field_of(std::string_view key);

// `text` is in the canonical spelling of apply_setting().
[[nodiscard]] Status set_field(const Field& field, const Setting& setting, const std::string& text,
                               Options& options);

}  // namespace deepinfer::config
