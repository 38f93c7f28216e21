#include "config/environment.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "config/assignments.h"
#include "config/nearest.h"
#include "config/settings.h"

namespace deepinfer::config {
namespace {

constexpr std::string_view kPrefix = "DEEPINFER_";

// A setting and whether it was named by its variable or by its key.
struct Named {
  Setting setting;
  std::string name;  // as in the environment
};

std::vector<Named> known_names() {
  std::vector<Named> names;
  for (const Setting& setting : known_settings()) {
    if (!setting.variable.empty()) {
      names.push_back({setting, std::string(kPrefix).append(setting.variable)});
    }
    if (setting.kind == ValueKind::kBoolean && setting.key == "model.engram_storage") continue;
    Setting by_key = setting;
    by_key.inverted = false;
    names.push_back({by_key, variable_of_key(setting.key)});
  }
  return names;
}

Problem unknown(std::string_view name, const std::vector<Named>& known) {
  std::vector<std::string_view> candidates;
  candidates.reserve(known.size());
  for (const Named& entry : known) candidates.emplace_back(entry.name);
  const std::string_view near = nearest(name, candidates);
  return {"unknown variable " + std::string(name), "environment",
          near.empty() ? "unset it; docs/reference/configuration.md lists the known ones"
                       : "did you mean " + std::string(near) + "?"};
}

void apply(const Named& entry, const std::string& value, Assignments& state) {
  assign({entry.setting, value, entry.name, entry.name, "=", "environment", "unset it"}, state);
}

}  // namespace

void apply_environment(const Variables& variables, Assignments& state) {
  const std::vector<Named> known = known_names();
  const auto ignored = ignored_variables();
  std::set<std::string_view> keys;
  for (const auto& variable : variables) {
    const std::string& name = variable.first;
    if (!name.starts_with(kPrefix)) continue;
    const auto entry = std::find_if(known.begin(), known.end(),
                                    [&](const Named& candidate) { return candidate.name == name; });
    if (entry != known.end()) {
      if (!keys.insert(entry->setting.key).second) {
        state.problems.push_back({name + " sets " + std::string(entry->setting.key) +
                                      ", which another variable sets too",
                                  "environment", "unset one of them"});
        continue;
      }
      apply(*entry, variable.second, state);
      continue;
    }
    const std::string_view bare = std::string_view(name).substr(kPrefix.size());
    if (std::find(ignored.begin(), ignored.end(), bare) != ignored.end()) {
      state.warnings.push_back({name + " has no effect here", "environment", "unset it"});
      continue;
    }
    state.problems.push_back(unknown(name, known));
  }
}

EnvironmentReport read_environment(const Variables& variables) {
  Assignments state;
  apply_environment(variables, state);
  check_together(state);
  return {std::move(state.options), std::move(state.problems), std::move(state.warnings)};
}

Variables process_environment() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace deepinfer::config
