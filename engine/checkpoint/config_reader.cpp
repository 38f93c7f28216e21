#include "engine/checkpoint/config_reader.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "engine/checkpoint/strict_json.h"

namespace deepinfer::engine {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxList = 4096;  // entries of a list of layers

const char* path_of(ConfigSection section) {
  switch (section) {
    case ConfigSection::kText:
      return "/text_config";
    case ConfigSection::kVision:
      return "/vision_config";
    case ConfigSection::kQuantization:
      return "/quantization_config";
    case ConfigSection::kRopeScaling:
      return "/text_config/rope_scaling";
    case ConfigSection::kRoot:
      break;
  }
  return "";
}

std::string range_text(const IntegerRange& range) {
  std::string text =
      "a whole number from " + std::to_string(range.min) + " to " + std::to_string(range.max);
  if (range.multiple_of != 1) text += ", a multiple of " + std::to_string(range.multiple_of);
  return text;
}

std::string range_text(const NumberRange& range) {
  std::ostringstream text;
  text << "a number from " << range.min << " to " << range.max;
  return text.str();
}

}  // namespace

ConfigReader::ConfigReader(const Json& root, std::string where)
    : root_(root), where_(std::move(where)), flat_(!root.contains("text_config")) {}

const Json* ConfigReader::section(ConfigSection section) const {
  if (section == ConfigSection::kRoot) return &root_;
  const Json::json_pointer path(path_of(section));
  if (!root_.contains(path)) return nullptr;
  const Json& found = root_.at(path);
  return found.is_object() ? &found : nullptr;
}

bool ConfigReader::has_section(ConfigSection section) const {
  return this->section(section) != nullptr;
}

const char* ConfigReader::flat_name(const ConfigKey& key) const {
  // Text and top-level keys may keep their released name in a flat file; a section's would collide.
  const bool may_keep = key.section == ConfigSection::kRoot || key.section == ConfigSection::kText;
  const bool has_flat = *key.flat != '\0';
  if (may_keep && (!has_flat || (!root_.contains(key.flat) && root_.contains(key.released)))) {
    return key.released;
  }
  return key.flat;
}

const Json* ConfigReader::find(const ConfigKey& key) const {
  const Json* object = flat_ ? &root_ : section(key.section);
  const char* name = flat_ ? flat_name(key) : key.released;
  if (object == nullptr || !object->contains(name)) return nullptr;
  return &object->at(name);
}

std::string ConfigReader::pointer(const ConfigKey& key) const {
  if (flat_) return std::string("/") + flat_name(key);
  return std::string(path_of(key.section)) + "/" + key.released;
}

void ConfigReader::report(const ConfigKey& key, std::string what) {
  problems_.push_back({.where = where_ + ": " + pointer(key),
                       .what = std::move(what),
                       .mend = "use the config.json that belongs to the weights"});
}

std::optional<std::int64_t> ConfigReader::checked(const ConfigKey& key, const Json& value,
                                                  const IntegerRange& range) {
  bool sound = value.is_number_integer();
  if (sound && value.is_number_unsigned()) {
    sound = value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  }
  if (sound) {
    const auto number = value.get<std::int64_t>();
    sound = number >= range.min && number <= range.max && number % range.multiple_of == 0;
  }
  if (!sound) {
    report(key, "must be " + range_text(range) + ", is " + shown(value));
    return std::nullopt;
  }
  return value.get<std::int64_t>();
}

std::int64_t ConfigReader::integer(const ConfigKey& key, const IntegerRange& range) {
  const Json* value = find(key);
  if (value == nullptr) {
    if (range.otherwise) return *range.otherwise;
    report(key, "is missing, must be " + range_text(range));
    return range.min;
  }
  return checked(key, *value, range).value_or(range.min);
}

double ConfigReader::number(const ConfigKey& key, const NumberRange& range) {
  const Json* value = find(key);
  if (value == nullptr || (value->is_null() && range.otherwise)) {
    if (range.otherwise) return *range.otherwise;
    report(key, "is missing, must be " + range_text(range));
    return range.min;
  }
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= range.min && number <= range.max)) {
    report(key, "must be " + range_text(range) + ", is " + shown(*value));
    return range.min;
  }
  return number;
}

std::vector<std::int64_t> ConfigReader::integers(const ConfigKey& key, const IntegerRange& each,
                                                 bool required) {
  const Json* value = find(key);
  if (value == nullptr) {
    if (required) report(key, "is missing, must be a list");
    return {};
  }
  if (!value->is_array() || value->size() > kMaxList) {
    report(key, "must be a list of at most " + std::to_string(kMaxList) + " entries, is " +
                    shown(*value));
    return {};
  }
  std::vector<std::int64_t> list;
  for (const Json& item : *value) {
    const std::optional<std::int64_t> entry = checked(key, item, each);
    if (!entry) return {};
    list.push_back(*entry);
  }
  return list;
}

void ConfigReader::expect(const ConfigKey& key, const Json& only, bool required) {
  const Json* value = find(key);
  if (value == nullptr) {
    if (required) report(key, "is missing, must be " + shown(only));
    return;
  }
  if (*value != only) {
    report(key, "this engine runs " + shown(only) + " only, the file says " + shown(*value));
  }
}

}  // namespace deepinfer::engine
