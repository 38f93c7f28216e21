#include "config/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace deepinfer::config {
namespace {

Error expected(std::string_view what, std::string_view text) {
  return fail(ErrorCode::kInvalidArgument,
              "expected " + std::string(what) + ", got \"" + std::string(text) + "\"");
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& letter : out) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

struct NumberWithUnit {
  std::string_view number;
  std::string_view unit;
};

// "10 GiB" -> "10" and "GiB".
NumberWithUnit split_unit(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) return {text, {}};
  std::string_view unit = text.substr(end);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  return {text.substr(0, end), unit};
}

template <typename Number>
bool read_whole(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc{} && stop == end && !text.empty();
}

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array kSizes{Unit{"", 1}, Unit{"KiB", 1 << 10}, Unit{"MiB", 1 << 20},
                            Unit{"GiB", 1 << 30}};
constexpr std::array kTimes{Unit{"ms", 1}, Unit{"s", 1000}, Unit{"min", 60'000},
                            Unit{"h", 3'600'000}};

}  // namespace

Result<bool> parse_boolean(std::string_view text) {
  const std::string word = lower(text);
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word == "0" || word == "false" || word == "no" || word == "off") return false;
  return expected("0/1, true/false, yes/no or on/off", text);
}

Result<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  if (!read_whole(text, value)) return expected("a whole number", text);
  return value;
}

Result<double> parse_number(std::string_view text) {
  double value = 0;
  if (!read_whole(text, value) || !std::isfinite(value)) return expected("a number", text);
  return value;
}

Result<std::int64_t> parse_size(std::string_view text) {
  const auto [number, name] = split_unit(text);
  for (const Unit& unit : kSizes) {
    if (unit.name != name) continue;
    std::int64_t count = 0;
    if (!read_whole(number, count)) break;
    if (count > std::numeric_limits<std::int64_t>::max() / unit.factor) break;
    return count * unit.factor;
  }
  return expected("a size in bytes, KiB, MiB or GiB", text);
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  // A century in milliseconds: far beyond any use, and safe to add to a clock.
  constexpr double kLongest = 3.2e12;
  const auto [number, name] = split_unit(text);
  for (const Unit& unit : kTimes) {
    if (unit.name != name) continue;
    double count = 0;
    if (!read_whole(number, count)) break;
    const double milliseconds = count * static_cast<double>(unit.factor);
    if (!(milliseconds <= kLongest)) break;
    return std::chrono::milliseconds(std::llround(milliseconds));
  }
  return expected("a time in ms, s, min or h", text);
}

Result<std::chrono::milliseconds> parse_duration_or_seconds(std::string_view text) {
  const auto time =
      parse_duration(parse_number(text) ? std::string(text) + "s" : std::string(text));
  if (time) return *time;
  return expected("a time in ms, s, min or h, or seconds", text);
}

Result<std::uint32_t> parse_mode(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("0o")) digits.remove_prefix(2);
  std::uint32_t bits = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, bits, 8);
  if (code == std::errc{} && stop == end && bits <= 0777) return bits;
  return expected("permission bits in octal, at most 0777", text);
}

Result<std::vector<std::string_view>> split_list(std::string_view text) {
  std::vector<std::string_view> items;
  if (trimmed(text).empty()) return items;
  for (std::string_view rest = text;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    items.push_back(trimmed(rest.substr(0, comma)));
    if (items.back().empty()) return expected("items with a comma between two of them", text);
    if (comma == rest.size()) return items;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace deepinfer::config
