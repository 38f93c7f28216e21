#include "client/cli/input_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "client/cli/messages.h"
#include "config/values.h"

namespace deepinfer::cli {
namespace {

// How often a long check looks for a signal, in lines.
constexpr std::int64_t kLinesPerLook = 256;

// A custom_id in 64 bits, and where it stands.
struct Mark {
  std::uint64_t mark;
  std::int64_t line;
};

// The lines whose marks occur more than once; nearly always none.
std::set<std::int64_t> lines_alike(std::vector<Mark> marks) {
  std::sort(marks.begin(), marks.end(),
            [](const Mark& left, const Mark& right) { return left.mark < right.mark; });
  std::set<std::int64_t> lines;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    if (marks[i].mark != marks[i - 1].mark) continue;
    lines.insert(marks[i - 1].line);
    lines.insert(marks[i].line);
  }
  return lines;
}

std::string joined(const std::vector<std::int64_t>& lines) {
  std::string text;
  for (const std::int64_t line : lines) {
    text += (text.empty() ? "" : ", ") + std::to_string(line);
  }
  return text;
}

// `lines` read again, to tell equal ids from equal marks.
Result<std::string> duplicates_among(InputFile& file, const std::set<std::int64_t>& lines) {
  DEEPINFER_TRY([[maybe_unused]] const Done back, file.rewind());
  std::map<std::string, std::vector<std::int64_t>> by_id;
  InputFile::Line line;
  while (true) {
    DEEPINFER_TRY(const auto outcome, file.next(line));
    if (outcome == InputFile::Outcome::kEnd) break;
    if (!lines.contains(line.number)) continue;
    const BatchLine parsed = parse_batch_line(line.text, line.number, {});
    if (parsed.custom_id) by_id[*parsed.custom_id].push_back(line.number);
  }
  std::string text;
  for (const auto& [id, where] : by_id) {
    if (where.size() < 2) continue;
    text += (text.empty() ? "" : "; ") + shown(nlohmann::json(id)) + " on lines " + joined(where);
  }
  return text;
}

Error read_error(const Error& error, const std::string& path) {
  return usage_error(error.message, path, "name a readable file of JSON lines");
}

Status check_duplicates(InputFile& file, const CheckSettings& settings, std::vector<Mark> marks) {
  const std::set<std::int64_t> alike = lines_alike(std::move(marks));
  if (alike.empty()) return Done{};
  const auto duplicates = duplicates_among(file, alike);
  if (!duplicates) return read_error(duplicates.error(), settings.path);
  if (duplicates->empty()) return Done{};
  return usage_error("duplicate_custom_id: " + *duplicates, settings.path,
                     "give every request a custom_id of its own");
}

Status look_for_signal(const CheckSettings& settings, std::int64_t line) {
  if (line % kLinesPerLook != 0) return Done{};
  const int number = settings.stop_signal ? settings.stop_signal() : 0;
  if (number == 0) return Done{};
  return fail(ErrorCode::kCancelled, std::to_string(number));
}

}  // namespace

Result<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument,
                "expected I/N with I from 1 to N, got \"" + std::string(text) + "\"");
  };
  if (slash == std::string_view::npos) return wrong();
  const auto index = config::parse_integer(text.substr(0, slash));
  const auto count = config::parse_integer(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count) return wrong();
  return Shard{*index, *count};
}

std::string to_text(const Shard& shard) {
  return std::to_string(shard.index) + "/" + std::to_string(shard.count);
}

RequestReader::RequestReader(InputFile& file, const Shard& shard, LineDefaults defaults)
    : file_(file), shard_(shard), defaults_(defaults) {}

Result<bool> RequestReader::next(BatchLine& line) {
  bool is_ours = false;
  while (!is_ours) {
    DEEPINFER_TRY(const bool has_line, next_of_any(line, is_ours));
    if (!has_line) return false;
  }
  return true;
}

Result<bool> RequestReader::next_of_any(BatchLine& line, bool& is_ours) {
  InputFile::Line raw;
  DEEPINFER_TRY(const auto outcome, file_.next(raw));
  if (outcome == InputFile::Outcome::kEnd) return false;
  is_ours = requests_ % shard_.count == shard_.index - 1;
  ++requests_;
  if (!raw.is_too_long) {
    line = parse_batch_line(raw.text, raw.number, defaults_);
    return true;
  }
  line = BatchLine{};
  line.number = raw.number;
  line.problems.push_back({"invalid_json_line",
                           "the line is longer than " + std::to_string(kLongestLine >> 20) + " MiB",
                           ""});
  return true;
}

Result<InputFacts> check_input(InputFile& file, const CheckSettings& settings) {
  RequestReader reader(file, settings.shard, settings.defaults);
  InputFacts facts;
  std::vector<Mark> marks;
  bool has_any = false;
  BatchLine line;
  while (true) {
    bool is_ours = false;
    const auto has_line = reader.next_of_any(line, is_ours);
    if (!has_line) return read_error(has_line.error(), settings.path);
    if (!*has_line) break;
    DEEPINFER_TRY([[maybe_unused]] const Done on, look_for_signal(settings, line.number));
    has_any = true;
    if (line.custom_id) marks.push_back({custom_id_mark(line.custom_id), line.number});
    if (!is_ours) continue;
    ++facts.requests;
    if (!line.problems.empty()) ++facts.refused;
  }
  if (!has_any) {
    return usage_error("the file has no requests", settings.path,
                       "put one JSON object on each line");
  }
  DEEPINFER_TRY([[maybe_unused]] const Done single,
                check_duplicates(file, settings, std::move(marks)));
  return facts;
}

Result<bool> is_complete(InputFile& file, const CheckSettings& settings,
                         const FinishedLines& finished) {
  DEEPINFER_TRY([[maybe_unused]] const Done back, file.rewind());
  RequestReader reader(file, settings.shard, settings.defaults);
  BatchLine line;
  std::size_t matched = 0;
  while (true) {
    const auto has_line = reader.next(line);
    if (!has_line) return read_error(has_line.error(), settings.path);
    if (!*has_line) break;
    const auto record = finished.find(line.number);
    if (record == finished.end() || record->second != custom_id_mark(line.custom_id)) return false;
    ++matched;
  }
  return matched == finished.size();
}

}  // namespace deepinfer::cli
