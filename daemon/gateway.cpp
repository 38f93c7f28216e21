#include "daemon/gateway.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "daemon/log.h"
#include "daemon/prompt_reader.h"
#include "ipc/codec.h"

namespace deepinfer::daemon {
namespace {

// Requests that are encoded in one piece of work: enough to make a hop cheap, few enough that the first
// of them does not wait for the last.
constexpr std::size_t kEncodedTogether = 64;
// Prompts of all sessions that are copied and not encoded. Those of sessions that are gone count while the
// pool has them, so that coming and going gains nothing.
constexpr std::uint64_t kMostUnencodedBytes = 1ULL << 30U;
// Large descriptors (logit biases, stop strings) of one session's unfinished requests: they stay with the
// request until it ends.
constexpr std::uint64_t kMostHeldBytes = 256ULL << 20U;
// Descriptors that are decoded before the loop turns to others: some milliseconds of work.
constexpr std::size_t kVisitBytes = 1U << 20U;
// Completions that may wait for a session's client, for each request it may have unfinished: that it was
// accepted and its result are two.
constexpr std::size_t kWaitingForEach = 4;

std::uint64_t key_of(SessionId id) { return static_cast<std::uint64_t>(id); }
std::uint64_t key_of(Ticket ticket) { return static_cast<std::uint64_t>(ticket); }

// How many answers a request asks for; a number that is not allowed is refused when it is checked.
std::int64_t answers_of(const ipc::SubmitMessage& message) {
  return std::clamp<std::int64_t>(message.request.sampling.n, 1, 128);
}

// What a descriptor that lies in the arena takes; those in slots are small.
std::uint64_t held_bytes_of(const ipc::Submission& submission) {
  const std::uint64_t bytes = submission.descriptor.size() * sizeof(std::uint64_t);
  return bytes > ipc::kMaxInlineBytes ? bytes : 0;
}

}  // namespace

// Some requests of one session on the pool.
class Gateway::Encoding final : public PoolWork {
 public:
  Encoding(Gateway& gateway, SessionId session, std::vector<UnencodedRequest> requests)
      : gateway_(gateway), session_(session), requests_(std::move(requests)) {
    for (const UnencodedRequest& one : requests_) bytes_ += one.bytes;
  }

  struct Outcome {
    Ticket ticket{};
    std::variant<PreparedRequest, RequestError> prepared;
  };

  void work() override {
    outcomes_.reserve(requests_.size());
    for (UnencodedRequest& one : requests_) {
      // A hint: nothing else depends on it.
      if (is_abandoned_.load(std::memory_order_relaxed)) return;
      outcomes_.push_back({one.ticket, gateway_.parts_.engine.prepare(std::move(one.request))});
    }
  }
  void done() override { gateway_.encoded(*this); }
  void abandon() override { is_abandoned_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] SessionId session() const { return session_; }
  [[nodiscard]] std::vector<Outcome>& outcomes() { return outcomes_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  Gateway& gateway_;
  SessionId session_;
  std::vector<UnencodedRequest> requests_;
  std::vector<Outcome> outcomes_;
  std::uint64_t bytes_ = 0;
  std::atomic<bool> is_abandoned_{false};
};

Gateway::Gateway(Parts parts) : parts_(std::move(parts)) {}

Gateway::~Gateway() = default;

Session& Gateway::open_session(SessionId id, std::uint32_t uid,
                               std::unique_ptr<ipc::DaemonEnd> end) {
  const auto most_waiting =
      kWaitingForEach * static_cast<std::size_t>(parts_.limits.max_unfinished) + 64;
  auto session = std::make_unique<Session>(id, uid, std::move(end), most_waiting);
  Session& opened = *session;
  sessions_.emplace(key_of(id), std::move(session));
  return opened;
}

void Gateway::close_session(SessionId id) {
  Session* session = find(id);
  if (session == nullptr) return;
  parts_.jobs.session_gone(id, parts_.now());
  const auto unfinished = session->unfinished;  // forget() takes them out
  for (const auto& item : unfinished) {
    cancel(item.second);
    forget(item.second, Ending::kCancelled);
  }
  drop_unencoded(*session);
  sessions_.erase(key_of(id));
}

Session* Gateway::find(SessionId id) {
  const auto found = sessions_.find(key_of(id));
  return found == sessions_.end() ? nullptr : found->second.get();
}

bool Gateway::serve(Session& session) {
  int taken = 0;
  std::size_t bytes = 0;
  bool is_empty = false;
  while (taken < kVisit && bytes < kVisitBytes) {
    const Result<bool> has_one = session.end->take(scratch_);
    if (!has_one) {
      broken_.push_back({session.id, has_one.error().message});
      return false;
    }
    is_empty = !*has_one;
    if (is_empty) break;
    ++taken;
    bytes += scratch_.descriptor.size() * sizeof(std::uint64_t);
    handle(session, scratch_);
  }
  start_encoding(session);
  return !is_empty;
}

void Gateway::handle(Session& session, const ipc::Submission& submission) {
  if (!submission.problem.empty()) {
    refuse(session, submission.user_data, {"bad_descriptor", submission.problem, ""});
    return;
  }
  switch (submission.operation) {
    case ipc::Operation::kNothing:
      note(session, session.writer.nothing_done(submission.user_data));
      return;
    case ipc::Operation::kCancel:
      cancel(session, submission.user_data);
      return;
    case ipc::Operation::kSubmit:
      submit(session, submission);
      return;
  }
}

void Gateway::submit(Session& session, const ipc::Submission& submission) {
  const std::uint64_t user_data = submission.user_data;
  auto message = ipc::decode_submit(submission.descriptor);
  if (!message) {
    return refuse(session, user_data, {"bad_descriptor", message.error().message, ""});
  }
  if (session.unfinished.contains(user_data)) {
    return refuse(session, user_data, {"bad_descriptor", "its number is in use", ""});
  }
  const AdmissionLoad load{parts_.state(), answers_,
                           session.answers + static_cast<std::int64_t>(session.writer.waiting()),
                           answers_of(*message)};
  if (const auto error = refusal_of(parts_.limits, load)) {
    return refuse(session, user_data, *error);
  }
  const auto job = job_of(session, *message);
  if (const auto* error = std::get_if<RequestError>(&job)) {
    return refuse(session, user_data, *error);
  }
  // A client keeps its spans until it is answered, so honest ones fit into its arena together. Without this
  // bound one span could be submitted, and copied, thousands of times.
  const std::uint64_t held = held_bytes_of(submission);
  const std::uint64_t bytes = prompt_bytes(*message);
  const std::uint64_t room = session.end->geometry().arena_bytes - session.unencoded_bytes;
  if (held > room || bytes > room - held) {
    return refuse(session, user_data,
                  {"bad_descriptor", "its prompt claims more bytes than the arena holds", ""});
  }
  if (unencoded_bytes_ + held + bytes > kMostUnencodedBytes ||
      session.held_bytes + held > kMostHeldBytes) {
    return refuse(session, user_data,
                  {"over_capacity", "too many bytes of requests are waiting", ""});
  }
  auto request = read_prompt(*session.end, *message);
  if (!request) {
    return refuse(session, user_data, {"bad_descriptor", request.error().message, ""});
  }
  const JobId id = std::get<JobId>(job);
  request->job_seed = parts_.jobs.find(id)->seed;
  const Ticket ticket{next_ticket_++};
  Entry entry{session.id, user_data, id, message->stream};
  entry.answers = load.asked;
  entry.held_bytes = held;
  answers_ += entry.answers;
  session.answers += entry.answers;
  session.held_bytes += held;
  entries_.emplace(key_of(ticket), entry);
  session.unfinished.emplace(user_data, ticket);
  session.unencoded.push_back({ticket, *std::move(request), bytes + held});
  session.unencoded_bytes += bytes + held;
  unencoded_bytes_ += bytes + held;
  parts_.jobs.request_queued(id);
  ++counts_.queued;
}

std::variant<JobId, RequestError> Gateway::job_of(Session& session,
                                                  const ipc::SubmitMessage& message) {
  if (message.job) {
    const JobTable::Job* job = parts_.jobs.find(*message.job);
    if (job != nullptr && job->session == session.id && !job->is_closed) return *message.job;
    if (job != nullptr && job->info.state == JobState::kCancelled) {
      return RequestError{"job_cancelled", to_text(*message.job) + " was cancelled", ""};
    }
    return RequestError{"unknown_job", to_text(*message.job) + " takes no requests from here", ""};
  }
  // It may have been closed, even forgotten, since.
  const JobTable::Job* unnamed =
      session.unnamed_job ? parts_.jobs.find(*session.unnamed_job) : nullptr;
  if (unnamed == nullptr || unnamed->is_closed) {
    session.unnamed_job = parts_.new_job_id();
    parts_.jobs.open({}, {*session.unnamed_job, session.uid, session.id, JobTable::Kind::kUnnamed,
                          parts_.now()});
  }
  return *session.unnamed_job;
}

void Gateway::refuse(Session& session, std::uint64_t user_data, const RequestError& error) {
  ++counts_.refused;
  parts_.log.limited(
      "refused " + error.code, LogLevel::kInfo, "request refused",
      {{"session", key_of(session.id)}, {"code", error.code}, {"reason", error.message}});
  note(session, session.writer.refused(user_data, error));
}

void Gateway::start_encoding(Session& session) {
  if (session.encoding != nullptr || session.unencoded.empty()) return;
  std::vector<UnencodedRequest> some;
  while (!session.unencoded.empty() && some.size() < kEncodedTogether) {
    some.push_back(std::move(session.unencoded.front()));
    session.unencoded.pop_front();
  }
  ++encodings_;
  auto encoding = std::make_unique<Encoding>(*this, session.id, std::move(some));
  session.encoding = encoding.get();
  run_on_pool(parts_.loop, std::move(encoding));
}

void Gateway::encoded(Encoding& encoding) {
  --encodings_;
  unencoded_bytes_ -= encoding.bytes();
  std::vector<EngineCommand> commands;
  Session* session = find(encoding.session());
  for (Encoding::Outcome& outcome : encoding.outcomes()) {
    const auto found = entries_.find(key_of(outcome.ticket));
    // Its session is gone, or it is lost.
    if (found == entries_.end() || session == nullptr) continue;
    Entry& entry = found->second;
    if (const auto* error = std::get_if<RequestError>(&outcome.prepared)) {
      const std::uint64_t user_data = entry.user_data;
      forget(outcome.ticket, Ending::kFailed);
      refuse(*session, user_data, *error);
      continue;
    }
    entry.is_with_engine = true;
    --counts_.queued;
    ++counts_.running;
    parts_.jobs.request_started(entry.job);
    note(*session, session->writer.accepted(entry.user_data));
    commands.emplace_back(AdmitCommand{
        outcome.ticket, std::get<PreparedRequest>(std::move(outcome.prepared)), entry.stream});
    if (entry.is_cancelled) commands.emplace_back(CancelCommand{outcome.ticket});
  }
  if (!commands.empty()) parts_.engine.post(std::move(commands));
  if (session != nullptr) {
    session->encoding = nullptr;
    session->unencoded_bytes -= encoding.bytes();
    start_encoding(*session);
  }
  flush();
  parts_.on_encoded();
}

void Gateway::cancel(Session& session, std::uint64_t user_data) {
  const auto found = session.unfinished.find(user_data);
  if (found != session.unfinished.end()) cancel(found->second);
}

void Gateway::cancel(Ticket ticket) {
  const auto found = entries_.find(key_of(ticket));
  // Once: a client may ask as often as it likes.
  if (found == entries_.end() || std::exchange(found->second.is_cancelled, true)) return;
  if (found->second.is_with_engine) parts_.engine.post({CancelCommand{ticket}});
}

void Gateway::cancel_job(JobId job) {
  parts_.jobs.cancel(job, parts_.now());
  for (const auto& item : entries_) {
    if (item.second.job == job) cancel(Ticket{item.first});
  }
}

// The request is no longer ours to end: counts and job follow.
void Gateway::forget(Ticket ticket, Ending ending) {
  const auto found = entries_.find(key_of(ticket));
  if (found == entries_.end()) return;
  const Entry entry = found->second;
  entries_.erase(found);
  --(entry.is_with_engine ? counts_.running : counts_.queued);
  answers_ -= entry.answers;
  parts_.jobs.request_ended(
      entry.job,
      {entry.is_with_engine ? JobTable::Stage::kRunning : JobTable::Stage::kQueued, ending},
      parts_.now());
  Session* session = find(entry.session);
  if (session == nullptr) return;
  session->unfinished.erase(entry.user_data);
  session->answers -= entry.answers;
  session->held_bytes -= entry.held_bytes;
}

void Gateway::apply(const TokenProduced& event) {
  const auto found = entries_.find(key_of(event.ticket));
  if (found == entries_.end()) return;
  Session* session = find(found->second.session);
  if (session == nullptr) return;
  note(*session, session->writer.token(found->second.user_data, event.token));
}

void Gateway::apply(const RequestFinished& event) {
  const auto found = entries_.find(key_of(event.ticket));
  if (found == entries_.end()) return;  // its session is gone
  const std::uint64_t user_data = found->second.user_data;
  Session* session = find(found->second.session);
  const Ending ending = ending_of(event.result);
  parts_.log.debug("request ended", {{"job", to_text(found->second.job)},
                                     {"ticket", key_of(event.ticket)},
                                     {"reason", name_of(event.result.choices.front().reason)}});
  forget(event.ticket, ending);
  ++counts_.finished;
  if (session == nullptr) return;
  note(*session, session->writer.finished(user_data, event.result));
}

void Gateway::lose_all() {
  for (auto& item : sessions_) {
    Session& session = *item.second;
    const auto unfinished = session.unfinished;  // forget() takes them out
    for (const auto& request : unfinished) {
      cancel(request.second);
      forget(request.second, Ending::kCancelled);
      note(session, session.writer.lost(request.first));
    }
    drop_unencoded(session);
  }
  flush();
}

void Gateway::note(Session& session, const Status& written) {
  if (!written) broken_.push_back({session.id, written.error().message});
  if (std::exchange(session.has_news, true)) return;
  with_news_.push_back(session.id);
}

void Gateway::flush() {
  for (const SessionId id : std::exchange(with_news_, {})) {
    Session* session = find(id);
    if (session == nullptr) continue;
    session->has_news = false;
    const Status flushed = session->writer.flush();
    if (!flushed) broken_.push_back({id, flushed.error().message});
    if (session->writer.waiting() > 0) parts_.on_waiting();
  }
}

// Prompts that nobody waits for: those on the pool are given up as soon as it looks.
void Gateway::drop_unencoded(Session& session) {
  if (session.encoding != nullptr) session.encoding->abandon();
  for (const UnencodedRequest& one : std::exchange(session.unencoded, {})) {
    session.unencoded_bytes -= one.bytes;
    unencoded_bytes_ -= one.bytes;
  }
}

Gateway::Room Gateway::flush_waiting() {
  Room room;
  for (auto& item : sessions_) {
    Session& session = *item.second;
    const std::size_t before = session.writer.waiting();
    if (before == 0) continue;
    const Status flushed = session.writer.flush();
    if (!flushed) broken_.push_back({session.id, flushed.error().message});
    room.has_progressed = room.has_progressed || session.writer.waiting() < before;
    room.is_waiting = room.is_waiting || session.writer.waiting() > 0;
  }
  return room;
}

std::vector<Gateway::Broken> Gateway::take_broken() { return std::exchange(broken_, {}); }

GatewayCounts Gateway::counts() const { return counts_; }

bool Gateway::is_idle() const {
  return entries_.empty() && std::all_of(sessions_.begin(), sessions_.end(), [](const auto& item) {
           return item.second->writer.waiting() == 0;
         });
}

}  // namespace deepinfer::daemon
