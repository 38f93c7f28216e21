#include "config/toml_values.h"

#include <string_view>

namespace deepinfer::config {
namespace {

// "an integer, 5".
std::string shown(const TomlValue& value) {
  std::string out(name_of(value.type));
  if (value.type == TomlType::kString) out += ", \"" + value.text + "\"";
  if (value.type == TomlType::kInteger || value.type == TomlType::kFloat) out += ", " + value.text;
  return out;
}

Error mismatch(std::string_view expected, const std::string& got) {
  return fail(ErrorCode::kInvalidArgument, "expected " + std::string(expected) + ", got " + got);
}

bool is_number(const TomlValue& value) {
  return value.type == TomlType::kInteger || value.type == TomlType::kFloat;
}

bool is_string(const TomlValue& value) { return value.type == TomlType::kString; }

bool is_yes_or_no(const TomlValue& value) {
  return value.type == TomlType::kBoolean ||
         (value.type == TomlType::kInteger && (value.text == "0" || value.text == "1"));
}

// The items with commas between them, when each is what it should be.
template <typename Fits>
Result<std::string> list_of(const TomlValue& value, std::string_view expected, Fits fits) {
  if (value.type != TomlType::kArray) return mismatch(expected, shown(value));
  std::string out;
  for (const TomlValue& item : value.items) {
    if (!fits(item)) return mismatch(expected, "an array with " + shown(item));
    if (!out.empty()) out += ',';
    out += item.text;
  }
  return out;
}

// A comma in a name would make two of it.
bool is_account(const TomlValue& value) {
  return value.type == TomlType::kInteger ||
         (is_string(value) && !value.text.empty() && value.text.find(',') == std::string::npos);
}

Result<std::string> scalar(bool fits, std::string_view expected, const TomlValue& value) {
  if (fits) return value.text;
  return mismatch(expected, shown(value));
}

}  // namespace

Result<std::string> text_of(const Setting& setting, const TomlValue& value) {
  const bool is_whole = value.type == TomlType::kInteger;
  switch (setting.kind) {
    case ValueKind::kBoolean:
      return scalar(is_yes_or_no(value), "a boolean", value);
    case ValueKind::kInteger:
      return scalar(is_whole, "an integer", value);
    case ValueKind::kNumber:
      return scalar(is_number(value), "a number", value);
    case ValueKind::kNumbers:
      if (is_number(value)) return value.text;
      return list_of(value, "a number or an array of numbers", is_number);
    case ValueKind::kSize:
      return scalar(is_whole || is_string(value), "a size, an integer or a string as \"64MiB\"",
                    value);
    case ValueKind::kDuration:
      return scalar(is_number(value) || is_string(value),
                    "a time, a number of seconds or a string as \"5min\"", value);
    case ValueKind::kMode:
      return scalar(is_string(value), "a string of octal digits as \"0660\"", value);
    case ValueKind::kUsers:
      return list_of(value, "an array of user names and ids", is_account);
    case ValueKind::kGroups:
      return list_of(value, "an array of group names and ids", is_account);
    case ValueKind::kPlugin:
      if (value.type == TomlType::kTable) return std::string("a table");
      return scalar(is_string(value), "a string or a table", value);
    case ValueKind::kWord:
      return scalar(is_string(value), "a string, one of " + std::string(setting.words), value);
    case ValueKind::kText:
      break;
  }
  return scalar(is_string(value), "a string", value);
}

}  // namespace deepinfer::config
