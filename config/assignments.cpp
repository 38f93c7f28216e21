#include "config/assignments.h"

#include <utility>

#include "config/fields.h"

namespace deepinfer::config {
namespace {

// Longer values are cut in messages: a file may hold a megabyte where a number is expected.
constexpr std::size_t kLongestText = 300;

std::string cut(std::string text) {
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text + "...";
}

// What would make the value acceptable.
std::string mend_of(const Assignment& assignment, ErrorCode code) {
  const Setting& setting = assignment.setting;
  if (code == ErrorCode::kInvalidArgument) {
    return "set it to such a value, or " + assignment.removal;
  }
  if (setting.neutral.empty() || setting.neutral == "-") return assignment.removal;
  std::string value(setting.neutral.substr(0, setting.neutral.find('|')));
  if (setting.inverted) value = value == "0" ? "1" : "0";
  return assignment.removal + ", or set it to " + value;
}

std::string origin_of(const Assignments& state, std::string_view key) {
  const auto found = state.origins.find(key);
  return found == state.origins.end() ? "default" : found->second;
}

}  // namespace

void assign(const Assignment& assignment, Assignments& state) {
  const Setting& setting = assignment.setting;
  const Status status = apply_setting(setting, assignment.value, state.options);
  if (status) {
    if (field_of(setting.key) == nullptr) return;
    state.origins.insert_or_assign(std::string(setting.key), assignment.origin);
    return;
  }
  state.failed.emplace(setting.key);
  const Error& error = status.error();
  std::string what = assignment.name;
  if (error.code == ErrorCode::kFailedPrecondition) {
    what += assignment.equals + cut(std::string(assignment.value));
  }
  what += ": " + cut(error.message);
  state.problems.push_back({std::move(what), assignment.where, mend_of(assignment, error.code)});
}

void check_together(Assignments& state) {
  constexpr std::string_view kTokens = "engine.max_batch_tokens";
  constexpr std::string_view kSequences = "engine.max_sequences";
  const EngineSection& engine = state.options.engine;
  if (max_batch_tokens(engine) >= engine.max_sequences) return;
  // A value that could not be used has its own problem, and the one compared here is not meant.
  if (state.failed.contains(kTokens) || state.failed.contains(kSequences)) return;
  state.problems.push_back(
      {std::string(kTokens) + " is " + std::to_string(max_batch_tokens(engine)) + ", below " +
           std::string(kSequences) + ", " + std::to_string(engine.max_sequences),
       origin_of(state, kTokens) + " and " + origin_of(state, kSequences),
       "raise the first or lower the second"});
}

}  // namespace deepinfer::config
