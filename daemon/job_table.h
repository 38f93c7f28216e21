// The jobs of this run of the daemon: who owns them, what has become of their requests.
//
// A request is counted from its admission on; total is always the sum of the other counts.
// Ended jobs are kept for lists until kKeptJobs newer ones have ended.
// Threads:  confined to the loop's thread; pure: times and ids are passed in
// Cost:     find() logarithmic; jobs are values
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include <deepinfer/jobs.h>

namespace deepinfer::daemon {

inline constexpr std::size_t kKeptJobs = 1000;

// A connection as the daemon counts them, from 1 on; never used twice in one run.
enum class SessionId : std::uint64_t {};

enum class Ending : std::uint8_t { kCompleted, kFailed, kCancelled };
// One choice that failed fails the request; then one that was cancelled cancels it.
[[nodiscard]] Ending ending_of(const RequestResult& result);

class JobTable {
 public:
  using Time = std::chrono::system_clock::time_point;
  enum class Kind : std::uint8_t {
    kNamed,    // opened by its client, complete when its client has said so
    kUnnamed,  // of requests without a job, complete when its client goes
  };
  struct Job {
    JobInfo info;
    SessionId session{};
    Kind kind = Kind::kNamed;
    std::optional<std::uint64_t> seed;
    bool is_closed = false;  // takes no more requests

    [[nodiscard]] std::int64_t unfinished() const {
      return info.counts.queued + info.counts.running;
    }
  };
  struct Opening {
    JobId id;
    std::uint32_t uid = 0;
    SessionId session{};
    Kind kind = Kind::kNamed;
    Time now;
  };

  void open(const JobOptions& options, const Opening& opening);
  // Null when unknown. The pointer is good until the next call that changes the table.
  [[nodiscard]] const Job* find(JobId job) const;

  enum class Stage : std::uint8_t { kQueued, kRunning };
  struct RequestEnd {
    Stage from{};
    Ending ending{};
  };
  // Of a running job, requests in this order: queued, perhaps started, ended.
  void request_queued(JobId job);
  void request_started(JobId job);
  void request_ended(JobId job, const RequestEnd& end, Time now);

  void close(JobId job, Time now);
  // Takes no more requests; its owner ends those that are unfinished.
  void cancel(JobId job, Time now);
  // The jobs of a session that is gone end: nobody is left to hear of their requests.
  void session_gone(SessionId session, Time now);

  // Newest first, after `before`; of one owner, or of all. One more than `most` says there are more.
  [[nodiscard]] std::vector<JobInfo> list(std::optional<std::uint32_t> uid,
                                          std::optional<JobId> before, std::size_t most) const;
  [[nodiscard]] std::int64_t running() const { return running_; }
  [[nodiscard]] std::int64_t running_of(SessionId session) const;

 private:
  struct Entry {
    Job job;
    std::uint64_t order = 0;  // of opening
    bool has_ended = false;
  };
  [[nodiscard]] Entry* entry(JobId job);
  void end_if_done(Entry& entry, Time now);
  void end(Entry& entry, JobState state, Time now);

  std::map<JobId, Entry> jobs_;
  std::map<std::uint64_t, JobId> by_order_;
  std::deque<JobId> ended_;  // oldest first
  std::uint64_t next_order_ = 1;
  std::int64_t running_ = 0;
};

}  // namespace deepinfer::daemon
