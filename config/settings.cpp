#include "config/settings.h"

#include <algorithm>

#include "config/fields.h"
#include "config/utf8.h"
#include "config/values.h"
#include "config/words.h"

namespace deepinfer::config {
namespace {

Result<std::string> canonical_boolean(const Setting& setting, std::string_view value) {
  DEEPINFER_TRY(const bool flag, parse_boolean(value));
  return std::string(flag != setting.inverted ? "1" : "0");
}

Result<std::string> canonical_text(std::string_view value) {
  if (is_utf8(value) && value.find('\0') == std::string_view::npos) return std::string(value);
  return fail(ErrorCode::kInvalidArgument, "expected UTF-8 text without NUL");
}

Result<std::string> canonical_word(const Setting& setting, std::string_view value) {
  if (has_word(setting.words, value)) return std::string(value);
  return fail(ErrorCode::kInvalidArgument, "expected one of " + std::string(setting.words) +
                                               ", got \"" + std::string(value) + "\"");
}

Result<std::string> canonical_number(std::string_view value) {
  DEEPINFER_TRY([[maybe_unused]] const double number, parse_number(value));
  return std::string(value);
}

Result<std::string> canonical_numbers(std::string_view value) {
  DEEPINFER_TRY(const auto items, split_list(value));
  for (const std::string_view item : items) {
    DEEPINFER_TRY([[maybe_unused]] const double number, parse_number(item));
  }
  return std::string(value);
}

// The value in one spelling, so that "off", "No" and "0" compare equal: bytes, milliseconds, 0 or 1.
Result<std::string> canonical(const Setting& setting, std::string_view value) {
  switch (setting.kind) {
    case ValueKind::kBoolean:
      return canonical_boolean(setting, value);
    case ValueKind::kInteger: {
      DEEPINFER_TRY(const std::int64_t number, parse_integer(value));
      return std::to_string(number);
    }
    case ValueKind::kNumber:
      return canonical_number(value);
    case ValueKind::kNumbers:
      return canonical_numbers(value);
    case ValueKind::kSize: {
      DEEPINFER_TRY(const std::int64_t bytes, parse_size(value));
      return std::to_string(bytes);
    }
    case ValueKind::kDuration: {
      DEEPINFER_TRY(const auto time, parse_duration_or_seconds(value));
      return std::to_string(time.count());
    }
    case ValueKind::kWord:
      return canonical_word(setting, value);
    case ValueKind::kText:
    case ValueKind::kPlugin:
      return canonical_text(value);
    case ValueKind::kMode:
    case ValueKind::kUsers:
    case ValueKind::kGroups:
      break;
  }
  return std::string(value);
}

}  // namespace

std::string variable_of_key(std::string_view key) {
  std::string name = "DEEPINFER_";
  for (const char letter : key) {
    if (letter == '.') {
      name += "__";
      continue;
    }
    const bool is_lower = letter >= 'a' && letter <= 'z';
    name += is_lower ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return name;
}

const Setting* setting_of_key(std::string_view key) {
  const auto known = known_settings();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [key](const Setting& setting) { return setting.key == key; });
  return found == known.end() ? nullptr : &*found;
}

Status apply_setting(const Setting& setting, std::string_view value, Options& options) {
  DEEPINFER_TRY(const std::string text, canonical(setting, value));
  if (!setting.part.empty() && !has_word(setting.neutral, text.empty() ? "-" : text)) {
    return fail(ErrorCode::kFailedPrecondition,
                std::string(setting.part) + " is not built into this version");
  }
  const Field* field = field_of(setting.key);
  if (field == nullptr) return Done{};
  return set_field(*field, setting, text, options);
}

}  // namespace deepinfer::config
