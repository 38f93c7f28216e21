// The check of a whole batch file before any work starts.
//
// Errors:   kInvalidArgument with a complete message: no requests, a custom_id that occurs twice,
//           a file that cannot be read. kCancelled: a signal came.
// Cost:     one pass, a second one only if two custom_ids look alike; 16 bytes for each line
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "client/cli/batch_line.h"
#include "client/cli/finished_records.h"
#include "client/cli/input_file.h"

namespace deepinfer::cli {

// The part of a file that one of several runs does: requests I, I + N, I + 2 N, ...
struct Shard {
  std::int64_t index = 1;  // 1 .. count
  std::int64_t count = 1;
  friend bool operator==(const Shard&, const Shard&) = default;
};
// "2/8".
[[nodiscard]] Result<Shard> parse_shard(std::string_view text);
[[nodiscard]] std::string to_text(const Shard& shard);

// The requests of an input, one after the other; those of other shards are left out.
class RequestReader {
 public:
  RequestReader(InputFile& file, const Shard& shard, LineDefaults defaults);

  // False at the end of the file.
  [[nodiscard]] Result<bool> next(BatchLine& line);
  // As next, but over the requests of all shards; `is_ours` says whether it is of this one.
  [[nodiscard]] Result<bool> next_of_any(BatchLine& line, bool& is_ours);

 private:
  InputFile& file_;
  Shard shard_;
  LineDefaults defaults_;
  std::int64_t requests_ = 0;  // read so far, of all shards
};

struct InputFacts {
  std::int64_t requests = 0;  // of this shard
  std::int64_t refused = 0;   // of those, lines with problems
};

struct CheckSettings {
  std::string path;  // for messages
  Shard shard;
  LineDefaults defaults;
  std::function<int()> stop_signal;
};
// Leaves the file at its end; its fingerprint is that of the whole file then.
[[nodiscard]] Result<InputFacts> check_input(InputFile& file, const CheckSettings& settings);

// Whether `finished` holds the records of exactly the requests of this shard.
[[nodiscard]] Result<bool> is_complete(InputFile& file, const CheckSettings& settings,
                                       const FinishedLines& finished);

}  // namespace deepinfer::cli
