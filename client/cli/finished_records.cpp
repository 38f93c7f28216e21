#include "client/cli/finished_records.h"

#include <functional>
#include <limits>
#include <string_view>

#include "client/cli/input_file.h"
#include "client/cli/json_text.h"
#include "client/cli/messages.h"
#include "client/cli/record.h"

namespace deepinfer::cli {
namespace {

using nlohmann::json;

Error damaged(const std::filesystem::path& path, std::int64_t line, std::string_view what) {
  return usage_error("line " + std::to_string(line) + " " + std::string(what), path.string(),
                     "remove the file to begin anew, without --resume");
}

}  // namespace

std::optional<RecordName> name_of_record(std::string_view text) {
  const auto document = parse_json(text);
  if (!document || !document->is_object()) return std::nullopt;
  const auto id = document->find("id");
  if (id == document->end() || !id->is_string()) return std::nullopt;
  const auto line = line_of_record_id(id->get_ref<const std::string&>());
  if (!line || !document->contains("error") || !document->contains("response")) return std::nullopt;
  RecordName name{*line, std::nullopt};
  const auto custom_id = document->find("custom_id");
  if (custom_id != document->end() && custom_id->is_string()) {
    name.custom_id = custom_id->get<std::string>();
  }
  return name;
}

std::uint64_t custom_id_mark(const std::optional<std::string>& custom_id) {
  if (!custom_id) return 0;
  return std::uint64_t{std::hash<std::string>{}(*custom_id)} | 1;
}

Result<RecordsRead> read_finished(const std::filesystem::path& path, FinishedLines& lines) {
  RecordsRead read;
  if (!std::filesystem::exists(path)) return read;
  auto file = InputFile::open(path, std::numeric_limits<std::size_t>::max());
  if (!file) return usage_error(file.error().message, path.string(), "make the file readable");
  InputFile::Line line;
  // A text that is no record is forgiven when nothing follows it: the tail of an interrupted write.
  std::optional<std::int64_t> torn;
  while (true) {
    const auto outcome = file->next(line);
    if (!outcome) return usage_error(outcome.error().message, path.string(), "check the disk");
    if (*outcome == InputFile::Outcome::kEnd) break;
    if (torn) return damaged(path, *torn, "is not a record");
    const auto name = line.has_end ? name_of_record(line.text) : std::nullopt;
    if (!name) {
      torn = line.number;
      continue;
    }
    if (!lines.emplace(name->line, custom_id_mark(name->custom_id)).second) {
      return damaged(path, line.number, "is a second record of the same request");
    }
    ++read.count;
    read.whole_bytes = line.end_bytes;
  }
  return read;
}

}  // namespace deepinfer::cli
