// Submissions -> admitted requests -> completions: the way between the sessions' rings and the engine.
//
// A submission is copied and checked, its prompt is encoded on the pool, and the request goes to the
// engine's thread; what comes back is written into the ring of the session that asked. Each accepted
// request ends in exactly one completion, unless its session is gone.
// Threads:  confined to the loop's thread
// Lifetime: Parts outlive it; destroyed only when is_quiet(), since encodings on the pool come back to it
// Errors:   a client that breaks the protocol is in take_broken(); nobody else is affected
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "daemon/admission.h"
#include "daemon/engine_thread.h"
#include "daemon/job_table.h"
#include "daemon/loop.h"
#include "daemon/session.h"
#include "ipc/messages.h"

namespace deepinfer::daemon {

class Log;

struct GatewayCounts {
  std::int64_t queued = 0;    // accepted or being checked, not with the engine
  std::int64_t running = 0;   // with the engine
  std::int64_t finished = 0;  // since the start
  std::int64_t refused = 0;   // since the start
};

class Gateway {
 public:
  struct Parts {
    Loop& loop;
    EngineThread& engine;
    JobTable& jobs;
    Log& log;
    AdmissionLimits limits;
    std::function<DaemonState()> state;
    std::function<JobTable::Time()> now;
    std::function<JobId()> new_job_id;
    std::function<void()> on_waiting;  // something waits for room: call flush_waiting() soon
    std::function<void()> on_encoded;  // fewer encodings are on the pool
  };
  explicit Gateway(Parts parts);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  ~Gateway();

  Session& open_session(SessionId id, std::uint32_t uid, std::unique_ptr<ipc::DaemonEnd> end);
  // Its unfinished requests are cancelled, its jobs end.
  void close_session(SessionId id);

  // Takes at most kVisit submissions of a session. True when there may be more.
  static constexpr int kVisit = 16;
  [[nodiscard]] bool serve(Session& session);

  // What the engine's thread reports.
  void apply(const TokenProduced& event);
  void apply(const RequestFinished& event);
  void cancel_job(JobId job);
  // Tells every session that its unfinished requests will not end here.
  void lose_all();

  // Writes out and wakes clients for everything since the last flush.
  void flush();
  struct Room {
    bool is_waiting = false;      // something still waits
    bool has_progressed = false;  // some client has made room
  };
  // Tries again what waits for room in some ring.
  [[nodiscard]] Room flush_waiting();

  struct Broken {
    SessionId session{};
    std::string reason;
  };
  // Sessions whose client broke the protocol, since the last call: close them.
  [[nodiscard]] std::vector<Broken> take_broken();

  [[nodiscard]] GatewayCounts counts() const;
  // Nothing that was accepted is unfinished, and every answer is in its ring.
  [[nodiscard]] bool is_idle() const;
  // No encoding is on the pool.
  [[nodiscard]] bool is_quiet() const { return encodings_ == 0; }

 private:
  class Encoding;
  struct Entry {
    SessionId session{};
    std::uint64_t user_data = 0;
    JobId job;
    bool stream = false;
    std::int64_t answers = 1;      // choices
    std::uint64_t held_bytes = 0;  // of a large descriptor
    bool is_cancelled = false;
    bool is_with_engine = false;
  };

  void handle(Session& session, const ipc::Submission& submission);
  void submit(Session& session, const ipc::Submission& submission);
  void cancel(Session& session, std::uint64_t user_data);
  void cancel(Ticket ticket);
  // The job that a submission names, or why it may not.
  [[nodiscard]] std::variant<JobId, RequestError> job_of(Session& session,
                                                         const ipc::SubmitMessage& message);
  void refuse(Session& session, std::uint64_t user_data, const RequestError& error);
  void start_encoding(Session& session);
  void drop_unencoded(Session& session);
  void encoded(Encoding& encoding);
  void forget(Ticket ticket, Ending ending);
  [[nodiscard]] Session* find(SessionId id);
  // After anything was written for a session: its outcome is looked at, a flush is due.
  void note(Session& session, const Status& written);

  Parts parts_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::unordered_map<std::uint64_t, Entry> entries_;  // by ticket
  std::vector<SessionId> with_news_;
  std::vector<Broken> broken_;
  ipc::Submission scratch_;
  std::uint64_t next_ticket_ = 1;
  std::int64_t encodings_ = 0;
  std::int64_t answers_ = 0;  // choices of unfinished requests, all sessions
  std::uint64_t unencoded_bytes_ =
      0;  // likewise of prompts, those of sessions that are gone included
  GatewayCounts counts_;
};

}  // namespace deepinfer::daemon
