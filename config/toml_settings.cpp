#include "config/toml_settings.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "config/nearest.h"
#include "config/settings.h"
#include "config/toml_file.h"
#include "config/toml_values.h"

namespace deepinfer::config {
namespace {

constexpr std::string_view kReference = "docs/reference/configuration.md lists the known ones";

std::string_view section_of(std::string_view key) { return key.substr(0, key.find('.')); }
std::string_view name_of_key(std::string_view key) { return key.substr(key.find('.') + 1); }

std::vector<std::string_view> sections() {
  std::vector<std::string_view> names;
  for (const Setting& setting : known_settings()) {
    const std::string_view section = section_of(setting.key);
    if (names.empty() || names.back() != section) names.push_back(section);
  }
  return names;
}

// The known keys for which `keep` holds.
template <typename Keep>
std::vector<std::string_view> keys_where(Keep keep) {
  std::vector<std::string_view> keys;
  for (const Setting& setting : known_settings()) {
    if (keep(setting.key)) keys.push_back(setting.key);
  }
  return keys;
}

// What was probably meant by `name` in `section`: the same name elsewhere, the like of it here, or the
// like of the whole.
std::string_view nearest_key(const std::string& section, const std::string& name) {
  const auto elsewhere =
      keys_where([&name](std::string_view key) { return name_of_key(key) == name; });
  if (!elsewhere.empty()) return elsewhere.front();

  const std::string whole = section.empty() ? name : section + "." + name;
  const auto here =
      keys_where([&section](std::string_view key) { return section_of(key) == section; });
  std::vector<std::string_view> names;
  names.reserve(here.size());
  for (const std::string_view key : here) names.push_back(name_of_key(key));
  const std::string_view near = nearest(name, names);
  const auto found = std::find(names.begin(), names.end(), near);
  if (found != names.end()) return here[static_cast<std::size_t>(found - names.begin())];
  return nearest(whole, keys_where([](std::string_view) { return true; }));
}

std::string suggestion(std::string_view near) {
  if (near.empty()) return "remove it; " + std::string(kReference);
  return "did you mean " + std::string(near) + "?";
}

// Works through one document. Problems are kept with their places until all can be put in order.
class Reading {
 public:
  Reading(const std::string& name, Assignments& state) : name_(name), state_(state) {}

  void read(const TomlDocument& document) {
    for (const TomlEntry& stray : document.strays) read_stray(stray);
    for (const TomlSection& section : document.sections) read_section(section);
    std::stable_sort(problems_.begin(), problems_.end(), [](const auto& left, const auto& right) {
      return std::tie(left.first.line, left.first.column) <
             std::tie(right.first.line, right.first.column);
    });
    for (auto& [place, problem] : problems_) state_.problems.push_back(std::move(problem));
  }

  [[nodiscard]] std::string where(const Place& place) const {
    return name_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  }

 private:
  void read_stray(const TomlEntry& entry) {
    const auto known = sections();
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) {
      report(entry.value.place,
             entry.key + ": expected a table, got " + std::string(name_of(entry.value.type)),
             "write [" + entry.key + "] above its keys");
      return;
    }
    report(entry.place, "unknown key " + entry.key + " outside of every section",
           suggestion(nearest_key("", entry.key)));
  }

  void read_section(const TomlSection& section) {
    const auto known = sections();
    if (std::find(known.begin(), known.end(), section.name) == known.end()) {
      const std::string_view near = nearest(section.name, known);
      report(section.place, "unknown section [" + section.name + "]",
             suggestion(near.empty() ? near : "[" + std::string(near) + "]"));
      return;
    }
    for (const TomlEntry& entry : section.entries) read_entry(section.name, entry);
  }

  void read_entry(const std::string& section, const TomlEntry& entry) {
    const std::string key = section + "." + entry.key;
    const Setting* setting = setting_of_key(key);
    if (setting == nullptr) {
      report(entry.place, "unknown key " + key, suggestion(nearest_key(section, entry.key)));
      return;
    }
    const auto text = text_of(*setting, entry.value);
    if (!text) {
      state_.failed.insert(key);
      report(entry.value.place, key + ": " + text.error().message,
             "give it a value of that type, or remove it");
      return;
    }
    Setting by_key = *setting;
    by_key.inverted = false;
    const std::size_t before = state_.problems.size();
    assign({by_key, *text, where(entry.place), key, " = ", where(entry.value.place), "remove it"},
           state_);
    if (state_.problems.size() == before) return;
    problems_.emplace_back(entry.value.place, std::move(state_.problems.back()));
    state_.problems.pop_back();
  }

  void report(const Place& place, std::string what, std::string mend) {
    problems_.emplace_back(place, Problem{std::move(what), where(place), std::move(mend)});
  }

  const std::string& name_;
  Assignments& state_;
  std::vector<std::pair<Place, Problem>> problems_;
};

}  // namespace

void apply_toml(std::string_view text, const std::string& name, Assignments& state) {
  const auto parsed = parse_toml(text);
  Reading reading(name, state);
  if (const auto* fault = std::get_if<TomlFault>(&parsed)) {
    state.problems.push_back({"not TOML, " + fault->what, reading.where(fault->place),
                              "mend this place and check again: what follows was not read"});
    return;
  }
  reading.read(std::get<TomlDocument>(parsed));
}

}  // namespace deepinfer::config
