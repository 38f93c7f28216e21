#include "client/cli/fields.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "config/nearest.h"

namespace deepinfer::cli {
namespace {

using nlohmann::json;

std::string plain(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string interval(const NumberRange& range) {
  const bool has_top = range.most < std::numeric_limits<double>::max();
  if (!has_top) {
    return (range.low == Bound::kIncluded ? "at least " : "above ") + plain(range.least);
  }
  return std::string(range.low == Bound::kIncluded ? "in [" : "in (") + plain(range.least) + ", " +
         plain(range.most) + (range.high == Bound::kIncluded ? "]" : ")");
}

std::string interval(const IntegerRange& range) {
  const bool has_top = range.most < std::numeric_limits<std::int64_t>::max();
  if (!has_top) return "at least " + std::to_string(range.least);
  return std::to_string(range.least) + " to " + std::to_string(range.most);
}

std::string last_name(const std::string& pointer) { return pointer.substr(pointer.rfind('/') + 1); }

// A JSON number that is whole and fits, whatever way it was written.
std::optional<std::int64_t> whole(const json& value) {
  // The doubles between which every value fits into 64 bits.
  constexpr double kLeast = -9223372036854775808.0;
  constexpr double kEnd = 9223372036854775808.0;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const auto number = value.get<double>();
  if (!(number >= kLeast && number < kEnd) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

bool is_fraction(const json& value) {
  return value.is_number_float() && std::trunc(value.get<double>()) != value.get<double>();
}

}  // namespace

std::string pointer_to(std::string_view parent, std::string_view name) {
  std::string pointer(parent);
  pointer += '/';
  for (const char letter : name) {
    if (letter == '~') {
      pointer += "~0";
    } else if (letter == '/') {
      pointer += "~1";
    } else {
      pointer += letter;
    }
  }
  return pointer;
}

std::string shown(const json& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::optional<std::int64_t> integer_of(const json& value, const std::string& pointer,
                                       const IntegerRange& range, FieldProblems& problems) {
  if (!value.is_number() || is_fraction(value)) {
    problems.push_back({"invalid_type",
                        last_name(pointer) + " must be a whole number, is " + shown(value),
                        pointer});
    return std::nullopt;
  }
  const auto number = whole(value);
  if (number && *number >= range.least && *number <= range.most) return number;
  problems.push_back({"invalid_value",
                      last_name(pointer) + " must be " + interval(range) + ", is " + shown(value),
                      pointer});
  return std::nullopt;
}

std::optional<double> number_of(const json& value, const std::string& pointer,
                                const NumberRange& range, FieldProblems& problems) {
  if (!value.is_number()) {
    problems.push_back(
        {"invalid_type", last_name(pointer) + " must be a number, is " + shown(value), pointer});
    return std::nullopt;
  }
  const auto number = value.get<double>();
  const bool is_above =
      range.low == Bound::kIncluded ? number >= range.least : number > range.least;
  const bool is_below = range.high == Bound::kIncluded ? number <= range.most : number < range.most;
  if (is_above && is_below) return number;
  problems.push_back({"invalid_value",
                      last_name(pointer) + " must be " + interval(range) + ", is " + shown(value),
                      pointer});
  return std::nullopt;
}

FieldReader::FieldReader(const json& object, std::string pointer, FieldProblems& problems)
    : object_(object), pointer_(std::move(pointer)), problems_(problems) {}

const json* FieldReader::value(std::string_view name) {
  known_.emplace_back(name);
  const auto found = object_.find(name);
  if (found == object_.end() || found->is_null()) return nullptr;
  return &*found;
}

std::optional<std::int64_t> FieldReader::integer(std::string_view name, const IntegerRange& range) {
  const json* field = value(name);
  if (field == nullptr) return std::nullopt;
  return integer_of(*field, pointer(name), range, problems_);
}

std::optional<double> FieldReader::number(std::string_view name, const NumberRange& range) {
  const json* field = value(name);
  if (field == nullptr) return std::nullopt;
  return number_of(*field, pointer(name), range, problems_);
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const json* field = value(name);
  if (field == nullptr) return std::nullopt;
  if (field->is_boolean()) return field->get<bool>();
  note("invalid_type", name, std::string(name) + " must be true or false, is " + shown(*field));
  return std::nullopt;
}

std::optional<std::string> FieldReader::text(std::string_view name) {
  const json* field = value(name);
  if (field == nullptr) return std::nullopt;
  if (field->is_string()) return field->get<std::string>();
  note("invalid_type", name, std::string(name) + " must be a string, is " + shown(*field));
  return std::nullopt;
}

bool FieldReader::has(std::string_view name) const {
  const auto found = object_.find(name);
  return found != object_.end() && !found->is_null();
}

std::string FieldReader::pointer(std::string_view name) const { return pointer_to(pointer_, name); }

void FieldReader::note(std::string_view code, std::string_view name, std::string message) {
  problems_.push_back({std::string(code), std::move(message), pointer(name)});
}

void FieldReader::exclude(std::string_view first, std::string_view second) {
  if (!has(first) || !has(second)) return;
  note("conflicting_fields", second,
       std::string(first) + " and " + std::string(second) + " exclude each other");
}

void FieldReader::refuse(std::string_view name, std::string_view message) {
  if (value(name) != nullptr) note("invalid_value", name, std::string(message));
}

void FieldReader::finish() {
  std::vector<std::string_view> names(known_.begin(), known_.end());
  for (const auto& [name, field] : object_.items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string_view near = config::nearest(name, names);
    std::string message = "unknown field " + shown(json(name));
    if (!near.empty()) message += ", did you mean \"" + std::string(near) + "\"?";
    note("unknown_field", name, std::move(message));
  }
}

}  // namespace deepinfer::cli
