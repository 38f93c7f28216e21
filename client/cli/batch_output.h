// The output and the error file of a batch run: begun, continued, published.
//
// Records go to OUTPUT.partial and ERRORS.partial; at the end both are moved into place, the errors
// first. ERRORS exists only if some request failed. OUTPUT.resume.json stands beside them until then.
//
// Errors:   kInvalidArgument with a complete message (messages.h)
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.h"
#include "client/cli/finished_records.h"
#include "client/cli/record.h"
#include "client/cli/record_file.h"
#include "client/cli/run_state.h"

namespace deepinfer::cli {

struct OutputPaths {
  std::filesystem::path output;
  std::filesystem::path errors;

  [[nodiscard]] std::filesystem::path partial_output() const;
  [[nodiscard]] std::filesystem::path partial_errors() const;
  [[nodiscard]] std::filesystem::path state() const;
};

// OUTPUT with .jsonl replaced by .errors.jsonl, or with that appended.
[[nodiscard]] std::filesystem::path default_errors_path(const std::filesystem::path& output);

// Refuses a name that is used for two things.
[[nodiscard]] Status check_paths(const OutputPaths& paths, const std::filesystem::path& input);

// Without --resume nothing of an earlier run may be there.
[[nodiscard]] Status check_nothing_there(const OutputPaths& paths);

class BatchOutput {
 public:
  // Nothing is there yet.
  [[nodiscard]] static Result<BatchOutput> begin(const OutputPaths& paths,
                                                 const RunIdentity& identity);
  // Continues what an interrupted run of that identity left, if anything.
  [[nodiscard]] static Result<BatchOutput> resume(const OutputPaths& paths,
                                                  const RunIdentity& identity);

  [[nodiscard]] const FinishedLines& finished() const { return finished_; }
  [[nodiscard]] std::int64_t finished_successes() const { return finished_successes_; }
  [[nodiscard]] std::int64_t finished_failures() const { return finished_failures_; }

  [[nodiscard]] Status write(const Record& record);
  // What was written since the last time goes onto the disk.
  [[nodiscard]] Status sync();
  // Every line has its record.
  [[nodiscard]] Status publish();

 private:
  BatchOutput(OutputPaths paths, RunState state);

  OutputPaths paths_;
  RunState state_;
  RecordFile output_;
  RecordFile errors_;  // opened by the first failure
  FinishedLines finished_;
  std::int64_t finished_successes_ = 0;
  std::int64_t finished_failures_ = 0;
};

}  // namespace deepinfer::cli
