// Requests go out: as soon as there is room for them, and not before.
#include <algorithm>
#include <string>
#include <utility>

#include "client/errors.h"
#include "client/session.h"

namespace deepinfer::client {
namespace {

// The daemon wakes a client for completions, not for room in the ring.
constexpr std::chrono::milliseconds kRoomNap{10};
// A daemon that accepts connections and breaks each of them does not keep a caller for ever.
constexpr std::uint64_t kMostConnections = 3;

}  // namespace

Client::Submitted Session::submit(const Request& request, ClientSink& sink,
                                  const Client::SubmitOptions& options) {
  RequestTable::Entry entry;
  entry.sink = &sink;
  entry.job = options.job;
  entry.stream = options.stream;
  Lock lock(mutex_);
  Patience patience = new_patience();
  for (std::uint64_t i = 0; i < kMostConnections; ++i) {
    if (auto error = ensure_connected(lock)) return {.error = std::move(error)};
    const std::uint64_t generation = generation_;
    while (state_ == State::kLive && generation == generation_) {
      auto published = try_submit(lock, request, entry, patience);
      if (const auto* handle = std::get_if<RequestHandle>(&published)) return {.request = *handle};
      if (auto* error = std::get_if<ClientError>(&published)) return {.error = std::move(*error)};
    }
  }
  return {.error = went_away(address_.socket)};
}

Session::Published Session::try_submit(Lock& lock, const Request& request,
                                       RequestTable::Entry& entry, Patience& patience) {
  if (auto error = check_capacity()) return *std::move(error);
  if (state_ != State::kLive) return Again{};
  ipc::SpanArena& arena = connection_->end->arena();
  auto prepared = prepare(arena, request, {.job = entry.job, .stream = entry.stream});
  if (auto* error = std::get_if<ClientError>(&prepared)) return std::move(*error);
  if (std::holds_alternative<NoRoom>(prepared)) {
    if (arena.free_bytes() >= empty_arena_bytes_) return cannot_fit(arena, request);
    if (!wait_for_room(lock, patience)) return took_nothing();
    return Again{};
  }
  return publish_patiently(lock, std::get<Submission>(prepared), entry, patience);
}

Session::Published Session::publish_patiently(Lock& lock, Submission& submission,
                                              RequestTable::Entry& entry, Patience& patience) {
  const std::uint64_t generation = generation_;
  while (state_ == State::kLive && generation == generation_) {
    const RequestHandle handle = table_.next_handle();
    const auto published = publish(*connection_->end, handle, submission);
    if (!published) {
      give_up();
      return Again{};
    }
    if (*published) {
      entry.spans = submission.spans;
      table_.add(std::move(entry));
      return handle;
    }
    if (!wait_for_room(lock, patience)) {
      free_spans(connection_->end->arena(), submission.spans);
      return took_nothing();
    }
  }
  return Again{};
}

std::optional<ClientError> Session::check_capacity() {
  const std::uint64_t most = connection_->welcome.max_unfinished;
  if (table_.with_daemon() < most) return std::nullopt;
  if (!is_receiving_) {
    if (take_completions() == kBroken) give_up();
    settle();
  }
  if (state_ != State::kLive || table_.with_daemon() < most) return std::nullopt;
  return ClientError{.fault = ClientFault::kRefused,
                     .code = "over_capacity",
                     .what = std::to_string(table_.with_daemon()) +
                             " requests are unfinished, the daemon allows a client " +
                             std::to_string(most),
                     .where = address_.socket.string(),
                     .mend = "deliver() some answers, then submit again"};
}

Session::Patience Session::new_patience() const {
  return {.progress = progress_,
          .until = std::chrono::steady_clock::now() + options_.connect_timeout};
}

// False when nothing has moved for connect_timeout; then the connection is as it was.
bool Session::wait_for_room(Lock& lock, Patience& patience) {
  if (patience.progress != progress_) patience = new_patience();
  const TimePoint now = std::chrono::steady_clock::now();
  if (now >= patience.until) return false;
  const TimePoint until = std::min(patience.until, now + kRoomNap);
  if (is_receiving_) {
    changed_.wait_until(lock, until);
  } else {
    receive(lock, until);
  }
  return true;
}

ClientError Session::took_nothing() const {
  return stalled(address_.socket, "the daemon took no request for " +
                                      std::to_string(options_.connect_timeout.count()) + " ms");
}

}  // namespace deepinfer::client
