// TOML text as sections, keys and values with their places: what the configuration needs of TOML.
//
// Units:    lines and columns count from 1; a column is a code point
// Errors:   kInvalidArgument text that is not TOML; the parser stops at the first such place
// Threads:  pure functions
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace deepinfer::config {

struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  friend bool operator==(const Place&, const Place&) = default;
};

enum class TomlType : std::uint8_t {
  kString,
  kInteger,
  kFloat,
  kBoolean,
  kTime,  // a date, a time or both
  kArray,
  kTable,
};

struct TomlValue {
  TomlType type = TomlType::kString;
  std::string text;              // of strings, numbers and booleans
  std::vector<TomlValue> items;  // of an array
  Place place;
};

struct TomlEntry {
  std::string key;  // one name, in which a dot has no meaning
  Place place;      // of the key
  TomlValue value;
};

struct TomlSection {
  std::string name;
  Place place;
  std::vector<TomlEntry> entries;
};

struct TomlDocument {
  std::vector<TomlSection> sections;
  std::vector<TomlEntry> strays;  // what stands before the first section, or is no table
};

struct TomlFault {
  std::string what;  // one lower-case clause
  Place place;
};

// Both in the order of their names; the caller sorts what it reports.
[[nodiscard]] std::variant<TomlDocument, TomlFault> parse_toml(std::string_view text);

// "an integer", "a table".
[[nodiscard]] std::string_view name_of(TomlType type);

}  // namespace deepinfer::config
