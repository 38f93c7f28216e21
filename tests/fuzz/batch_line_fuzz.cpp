#include "tests/fuzz/batch_line_fuzz.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "client/cli/batch_line.h"
#include "client/cli/json_text.h"
#include "client/cli/record.h"

namespace deepinfer::cli {
namespace {

constexpr std::array<std::string_view, 7> kCodes{
    "invalid_json_line", "missing_field",      "unknown_field",     "invalid_type",
    "invalid_value",     "conflicting_fields", "token_out_of_range"};

bool is_known(const FieldProblem& problem) {
  return std::find(kCodes.begin(), kCodes.end(), problem.code) != kCodes.end() &&
         !problem.message.empty();
}

bool is_in_range(const SamplingParams& params) {
  return params.temperature >= 0 && params.top_p > 0 && params.top_p <= 1 && params.top_k >= 0 &&
         params.n >= 1 && params.n <= 128 && params.max_tokens.value_or(1) >= 1;
}

// The record of a bad line is itself one line of JSON.
bool has_whole_record(const BatchLine& line) {
  const Record record = record_of_problems(line);
  const std::string_view text = record.text;
  return text.find('\n') == text.size() - 1 && parse_json(text).has_value();
}

}  // namespace

bool line_is_handled(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const BatchLine line = parse_batch_line(text, 1, {});
  if (line.problems.empty()) return is_in_range(line.request.sampling);
  return std::all_of(line.problems.begin(), line.problems.end(), is_known) &&
         has_whole_record(line);
}

}  // namespace deepinfer::cli
