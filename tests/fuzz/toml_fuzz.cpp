#include "tests/fuzz/toml_fuzz.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "config/print.h"
#include "config/toml_settings.h"
#include "config/values.h"

namespace deepinfer::config {
namespace {

constexpr std::string_view kName = "f:";

// "f:LINE:COLUMN", with a line of the text.
bool is_place(std::string_view where, std::int64_t lines) {
  if (!where.starts_with(kName)) return false;
  where.remove_prefix(kName.size());
  const std::size_t colon = where.find(':');
  if (colon == std::string_view::npos) return false;
  const auto line = parse_integer(where.substr(0, colon));
  const auto column = parse_integer(where.substr(colon + 1));
  return line && column && *line >= 1 && *line <= lines && *column >= 1;
}

bool reads_back(Assignments& state) {
  const Loaded loaded{state.options, state.origins, {}, {}};
  Assignments again;
  apply_toml(to_toml(loaded), "printed", again);
  return again.problems.empty() && again.options == state.options;
}

}  // namespace

bool toml_is_handled(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Assignments state;
  apply_toml(text, "f", state);
  if (state.problems.empty()) return reads_back(state);

  const std::int64_t lines = std::count(text.begin(), text.end(), '\n') + 1;
  return std::all_of(state.problems.begin(), state.problems.end(), [&](const Problem& problem) {
    const std::string line = to_line(problem);
    return !problem.what.empty() && !problem.mend.empty() && is_place(problem.where, lines) &&
           line.find('\n') == std::string::npos;
  });
}

}  // namespace deepinfer::config
