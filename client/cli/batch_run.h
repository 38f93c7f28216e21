// Runs the requests of a batch file: a window of them in flight, each record written as it comes.
//
// Errors:   kInvalidArgument with a complete message when a file cannot be read or written;
//           kInternal when the engine loses a request
// Cost:     memory for the window, whatever the length of the file
// Threads:  confined to one thread
// Lifetime: everything passed in outlives the run
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "client/cli/batch_output.h"
#include "client/cli/input_check.h"
#include "client/cli/progress.h"
#include "client/cli/record.h"
#include "client/cli/runner.h"

namespace deepinfer::cli {

// What a power cut may take: nothing older than a second, or what the system had not yet written.
enum class Durability : std::uint8_t { kPower, kProcess };

struct BatchCounts {
  std::int64_t total = 0;    // requests
  std::int64_t resumed = 0;  // records of earlier runs
  std::int64_t resumed_failed = 0;
  std::int64_t completed = 0;  // of this run
  std::int64_t failed = 0;     // of this run
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;

  [[nodiscard]] std::int64_t done() const { return resumed + completed + failed; }
  [[nodiscard]] std::int64_t all_failed() const { return resumed_failed + failed; }
};

class BatchRun final : private Sink {
 public:
  struct Parts {
    RequestReader& reader;
    Runner& runner;
    BatchOutput& output;
    Progress& progress;
    const Clock& clock;
    std::function<std::chrono::system_clock::time_point()> calendar;
    std::function<int()> stop_signal;
  };
  BatchRun(const Parts& parts, std::int64_t total, std::int64_t window, Durability durability);

  // Until every request has its record, or a signal comes: the number of that signal, or 0.
  [[nodiscard]] Result<int> run();

  [[nodiscard]] const BatchCounts& counts() const { return counts_; }

 private:
  void on_token(const TokenEvent& event) override;
  void on_finished(RequestResult result) override;

  [[nodiscard]] Status fill_window();
  [[nodiscard]] Status start(const BatchLine& line);
  [[nodiscard]] Status write_finished();
  [[nodiscard]] Status write(const Record& record);
  [[nodiscard]] Status sync_now_and_then();
  [[nodiscard]] ProgressFacts facts() const;

  Parts parts_;
  std::size_t window_;
  Durability durability_;
  bool has_more_ = true;
  std::unordered_map<std::uint64_t, RecordContext> in_flight_;  // by handle
  std::vector<RequestResult> results_;                          // ended in this step, to be written
  BatchCounts counts_;
  Clock::TimePoint next_sync_;
  bool is_dirty_ = false;
};

}  // namespace deepinfer::cli
