// Which lines of the input have a record already, read back from an output or an error file.
//
// Errors:   kInvalidArgument with a complete message (messages.h)
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

namespace deepinfer::cli {

// Enough to compare a custom_id with the one of its line; 0 for a record without one.
[[nodiscard]] std::uint64_t custom_id_mark(const std::optional<std::string>& custom_id);

// Line number in the input -> custom_id_mark of its record.
using FinishedLines = std::unordered_map<std::int64_t, std::uint64_t>;

struct RecordsRead {
  std::int64_t count = 0;
  std::int64_t whole_bytes = 0;  // up to the end of the last whole record
};

// What a record says of itself; nothing when the text is no record.
struct RecordName {
  std::int64_t line = 0;
  std::optional<std::string> custom_id;
};
[[nodiscard]] std::optional<RecordName> name_of_record(std::string_view text);

// Adds the records of `path` to `lines`. A last record that was cut off is left out; anything else
// that is no record, and a line that has two, is an error. A file that is not there has none.
[[nodiscard]] Result<RecordsRead> read_finished(const std::filesystem::path& path,
                                                FinishedLines& lines);

}  // namespace deepinfer::cli
