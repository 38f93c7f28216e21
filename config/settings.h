// Every configuration key that this project knows: its names, the form of its value, and what this
// version does with it.
//
// A key is applied to Options (config/fields.h), or belongs to a part that is not built yet, or both: with
// a part, only values that ask for nothing beyond what this version does are accepted ("neutral").
// Threads:  pure functions over constant tables, but that names of users and groups are looked up
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/options.h"

namespace deepinfer::config {

enum class ValueKind : std::uint8_t {
  kBoolean,
  kInteger,
  kNumber,
  kNumbers,   // one, or a list with commas
  kSize,      // bytes
  kDuration,  // a bare number is seconds
  kWord,      // one of Setting::words
  kText,      // UTF-8 without NUL, so that any log and any report can carry it
  kMode,      // permission bits, octal
  kUsers,     // a list with commas of names or ids
  kGroups,    // likewise
  kPlugin,    // a path; in the file also a table
};

struct Setting {
  std::string_view key;       // "speculative.max_draft"
  std::string_view variable;  // the reference engine's name without DEEPINFER_, or empty
  ValueKind kind = ValueKind::kText;
  std::string_view words;    // of kWord, separated by |
  std::string_view part;     // the part that is not built; empty: every value is applied
  std::string_view neutral;  // values accepted nevertheless, separated by |; "-" is the empty one
  bool inverted = false;     // the variable says the opposite of the key
};

// In the order in which they are printed, a section's keys together. A key occurs twice where its
// variable has another kind.
[[nodiscard]] std::span<const Setting> known_settings();
// Names of the reference engine, without DEEPINFER_, that mean nothing here.
[[nodiscard]] std::span<const std::string_view> ignored_variables();

// The name a key has in the environment when it has none of its own: "DEEPINFER_ENGINE__THREADS".
[[nodiscard]] std::string variable_of_key(std::string_view key);

// How the key itself is set, as in the file; null: unknown.
[[nodiscard]] const Setting* setting_of_key(std::string_view key);

// Checks `value` and applies it to `options`.
// Errors: kInvalidArgument form or range; kFailedPrecondition the part is not built.
[[nodiscard]] Status apply_setting(const Setting& setting, std::string_view value,
                                   Options& options);

}  // namespace deepinfer::config
