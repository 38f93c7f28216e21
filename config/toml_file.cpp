#include "config/toml_file.h"

#include <array>
#include <charconv>
#include <optional>

// toml++ 3.3 trusts what text can break: docs/adr/0020-tomlplusplus-reads-the-configuration.md. It asserts what
// "[=" breaks before it reports the same as an error: without its asserts it does just that (with clang
// and NDEBUG they would become assumptions). Letters such as U+00FC where a blank may stand reach what it takes
// for unreachable: here that answers "no blank". Sixteen levels of values are more than any key of ours has.
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/impl/forward_declarations.h>
#pragma push_macro("TOML_UNREACHABLE")
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#pragma pop_macro("TOML_UNREACHABLE")
#include <toml++/toml.h>

namespace deepinfer::config {
namespace {

Place place_of(const toml::source_region& region) {
  return {static_cast<std::uint32_t>(region.begin.line),
          static_cast<std::uint32_t>(region.begin.column)};
}

// The parser makes a table for each part of a dotted key and takes them down recursively, without a limit:
// 100,000 parts overflow the stack. A key ends with its line and has one dot between two parts.
std::optional<TomlFault> check_dots(std::string_view text) {
  constexpr std::uint32_t kMostDots = 64;
  std::uint32_t line = 1;
  std::uint32_t dots = 0;
  char before = '\n';
  for (const char letter : text) {
    if (letter == '\n') {
      ++line;
      dots = 0;
    }
    if (letter == '.' && before != '.' && ++dots > kMostDots) {
      return TomlFault{"more than " + std::to_string(kMostDots) + " dots on a line", {line, 1}};
    }
    before = letter;
  }
  return std::nullopt;
}

// "Error while parsing string: ..." -> "string: ...".
std::string clause_of(std::string_view description) {
  constexpr std::string_view kOpening = "Error while parsing ";
  if (description.starts_with(kOpening)) description.remove_prefix(kOpening.size());
  std::string clause(description);
  if (!clause.empty() && clause.front() >= 'A' && clause.front() <= 'Z') {
    clause.front() = static_cast<char>(clause.front() - 'A' + 'a');
  }
  return clause;
}

template <typename Number>
std::string text_of(Number number) {
  std::array<char, 32> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), end};
}

TomlValue value_of(const toml::node& node) {
  TomlValue value;
  value.place = place_of(node.source());
  if (const auto* text = node.as_string()) {
    value.type = TomlType::kString;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.type = TomlType::kInteger;
    value.text = text_of(integer->get());
  } else if (const auto* number = node.as_floating_point()) {
    value.type = TomlType::kFloat;
    value.text = text_of(number->get());
  } else if (const auto* flag = node.as_boolean()) {
    value.type = TomlType::kBoolean;
    value.text = flag->get() ? "true" : "false";
  } else if (node.is_table()) {
    value.type = TomlType::kTable;
  } else {
    value.type = node.is_array() ? TomlType::kArray : TomlType::kTime;
  }
  return value;
}

// Arrays in arrays stay without their items: no key has such a value.
TomlValue value_with_items(const toml::node& node) {
  TomlValue value = value_of(node);
  if (const toml::array* array = node.as_array()) {
    value.items.reserve(array->size());
    for (const toml::node& item : *array) value.items.push_back(value_of(item));
  }
  return value;
}

TomlEntry entry_of(const toml::key& key, const toml::node& node) {
  return {std::string(key.str()), place_of(key.source()), value_with_items(node)};
}

TomlDocument document_of(const toml::table& root) {
  TomlDocument document;
  for (const auto& [key, node] : root) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      document.strays.push_back(entry_of(key, node));
      continue;
    }
    TomlSection section{std::string(key.str()), place_of(key.source()), {}};
    for (const auto& [name, value] : *table) section.entries.push_back(entry_of(name, value));
    document.sections.push_back(std::move(section));
  }
  return document;
}

}  // namespace

std::variant<TomlDocument, TomlFault> parse_toml(std::string_view text) {
  if (auto fault = check_dots(text)) return *std::move(fault);
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) return document_of(parsed.table());
  return TomlFault{clause_of(parsed.error().description()), place_of(parsed.error().source())};
}

std::string_view name_of(TomlType type) {
  switch (type) {
    case TomlType::kString:
      return "a string";
    case TomlType::kInteger:
      return "an integer";
    case TomlType::kFloat:
      return "a float";
    case TomlType::kBoolean:
      return "a boolean";
    case TomlType::kTime:
      return "a date or time";
    case TomlType::kArray:
      return "an array";
    case TomlType::kTable:
      break;
  }
  return "a table";
}

}  // namespace deepinfer::config
