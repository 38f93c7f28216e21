#include "config/load.h"

#include <utility>

#include "config/assignments.h"
#include "config/fields.h"
#include "config/file.h"
#include "config/settings.h"

namespace deepinfer::config {
namespace {

void apply_flag(const LoadSources::Flag& flag, Assignments& state) {
  const Setting* setting = setting_of_key(flag.key);
  if (setting == nullptr) {
    state.problems.push_back({"unknown key " + flag.key, flag.spelling, "leave the flag out"});
    return;
  }
  Setting by_key = *setting;
  by_key.inverted = false;
  assign({by_key, flag.value, flag.spelling, flag.key, " = ", flag.spelling, "leave the flag out"},
         state);
}

}  // namespace

Loaded load(const LoadSources& sources) {
  Assignments state;
  if (sources.is_file_required || !sources.file.empty()) {
    apply_file(sources.file, sources.is_file_required ? Presence::kRequired : Presence::kOptional,
               state);
  }
  apply_environment(sources.environment, state);
  for (const LoadSources::Flag& flag : sources.flags) apply_flag(flag, state);
  check_together(state);
  for (const Field& field : fields()) state.origins.try_emplace(std::string(field.key), "default");
  return {std::move(state.options), std::move(state.origins), std::move(state.problems),
          std::move(state.warnings)};
}

std::filesystem::path default_file() { return "/etc/deepinfer/deepinferd.toml"; }

}  // namespace deepinfer::config
