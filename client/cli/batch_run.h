// Runs the requests of a batch file: a window of them in flight, each record written as it comes.
//
// A request that was refused for want of room is submitted again. One that was lost with its daemon, or
// not accepted by one that drains, has no record: --resume runs it.
// Errors:   kInvalidArgument with a complete message when a file cannot be read or written;
//           kInternal when the engine loses a request
// Cost:     memory for the window, whatever the length of the file
// Threads:  confined to one thread
// Lifetime: everything passed in outlives the run
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "client/cli/batch_output.h"
#include "client/cli/input_check.h"
#include "client/cli/progress.h"
#include "client/cli/record.h"
#include "client/cli/runner.h"
#include "client/cli/submit_pacer.h"

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

enum class BatchEnd : std::uint8_t {
  kComplete,  // every request has its record
  kSignal,
  kDraining,  // the daemon accepts no more; what it had accepted has its records
  kLost,      // the daemon went away; what it had not finished has none
};
struct BatchOutcome {
  BatchEnd end = BatchEnd::kComplete;
  int signal = 0;    // its number, with kSignal
  std::string what;  // with kLost, one clause
};

class BatchRun final : private RunnerSink {
 public:
  struct Parts {
    RequestReader& reader;
    Runner& runner;
    BatchOutput& output;
    Progress& progress;
    const Clock& clock;
    std::function<std::chrono::system_clock::time_point()> calendar;
    std::function<int()> stop_signal;
    std::function<void(std::chrono::milliseconds)> pause;
  };
  BatchRun(const Parts& parts, std::int64_t total, Durability durability);

  [[nodiscard]] Result<BatchOutcome> run();

  [[nodiscard]] const BatchCounts& counts() const { return counts_; }

 private:
  // A request on its way. The request itself is kept only where it may have to be submitted again.
  struct Pending {
    RecordContext context;
    Request request;
  };
  struct Refused {
    RequestHandle handle{};
    RequestError error;
  };
  struct Lost {
    RequestHandle handle{};
    Runner::Lost why{};
  };
  using Ending = std::variant<RequestResult, Refused, Lost>;

  void on_token(const TokenEvent& event) override;
  void on_finished(RequestResult result) override;
  void on_refused(RequestHandle request, const RequestError& error) override;
  void on_lost(RequestHandle request) override;

  [[nodiscard]] bool is_over() const;
  [[nodiscard]] Status fill_window();
  [[nodiscard]] Status start(BatchLine line);
  [[nodiscard]] Status submit(Pending pending);
  [[nodiscard]] Status advance();
  [[nodiscard]] Status take_endings();
  // What becomes of a request that is no longer in flight; `pending` may be taken over.
  [[nodiscard]] Status take(Pending& pending, const RequestResult& result);
  [[nodiscard]] Status take(Pending& pending, const Refused& refused);
  [[nodiscard]] Status take(Pending& pending, const Lost& lost);
  [[nodiscard]] Status write(const Record& record);
  [[nodiscard]] Status sync_now_and_then();
  [[nodiscard]] ProgressFacts facts() const;

  Parts parts_;
  Durability durability_;
  SubmitPacer pacer_;
  bool has_more_ = true;
  std::unordered_map<std::uint64_t, Pending> in_flight_;  // by handle
  std::deque<Pending> again_;                             // refused for want of room, oldest first
  std::vector<Ending> endings_;                           // of this step, to be looked at
  BatchOutcome outcome_;
  bool has_warned_ = false;
  BatchCounts counts_;
  Clock::TimePoint next_sync_;
  bool is_dirty_ = false;
};

}  // namespace deepinfer::cli
