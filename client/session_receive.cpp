// Completions come in and become events; events are told to the sinks.
#include <algorithm>
#include <utility>

#include "client/session.h"
#include "ipc/codec.h"

namespace deepinfer::client {
namespace {

// Nothing wakes a client when its daemon dies: it looks every so often.
constexpr std::chrono::milliseconds kNap{100};
// Beyond any wait that is meant; a greater one would overflow the clock.
constexpr std::chrono::milliseconds kLongestWait{std::chrono::hours{24 * 365}};

template <typename Value, typename Decode>
std::optional<Value> decoded(const std::vector<std::byte>& payload, Decode decode) {
  const auto words = ipc::to_words(payload);
  if (!words) return std::nullopt;
  Result<Value> value = decode(ipc::WordView(*words));
  if (!value) return std::nullopt;
  return *std::move(value);
}

bool tell_token(const Event& event) {
  auto token = decoded<TokenEvent>(event.payload, ipc::decode_token);
  if (!token) return false;
  token->request = event.request;
  event.sink->on_token(*token);
  return true;
}

bool tell_finished(const Event& event) {
  auto result = decoded<RequestResult>(event.payload, ipc::decode_result);
  if (!result) {
    event.sink->on_lost(event.request);
    return false;
  }
  result->request = event.request;
  event.sink->on_finished(*std::move(result));
  return true;
}

bool tell_refused(const Event& event) {
  const auto error = decoded<RequestError>(event.payload, ipc::decode_error);
  if (!error) {
    event.sink->on_lost(event.request);
    return false;
  }
  event.sink->on_refused(event.request, *error);
  return true;
}

// False: the daemon's bytes make no sense.
bool tell_sink(const Event& event) {
  switch (event.kind) {
    case EventKind::kToken:
      return tell_token(event);
    case EventKind::kFinished:
      return tell_finished(event);
    case EventKind::kRefused:
      return tell_refused(event);
    case EventKind::kLost:
      break;
  }
  event.sink->on_lost(event.request);
  return true;
}

}  // namespace

// The right to call sinks, for one event: without the mutex, and given back even when a sink throws.
class Session::Telling final {
 public:
  Telling(Session& session, Lock& lock, bool is_last)
      : session_(session), lock_(lock), is_last_(is_last) {
    session_.telling_ = std::this_thread::get_id();
    lock_.unlock();
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling() {
    lock_.lock();
    session_.telling_.reset();
    if (is_last_) session_.table_.note_heard();
    session_.changed_.notify_all();
  }

 private:
  Session& session_;
  Lock& lock_;
  const bool is_last_;
};

Client::Delivered Session::deliver(std::chrono::milliseconds timeout) {
  using Milliseconds = std::chrono::milliseconds;
  const TimePoint until =
      std::chrono::steady_clock::now() + std::clamp(timeout, Milliseconds{0}, kLongestWait);
  Lock lock(mutex_);
  if (telling_ == std::this_thread::get_id()) return Client::Delivered::kNothing;
  while (true) {
    if (can_tell()) {
      tell(lock, nullptr);
      return Client::Delivered::kSomething;
    }
    if (table_.unfinished() == 0) return Client::Delivered::kNothing;
    if (can_receive()) {
      receive(lock, until);
    } else {
      changed_.wait_until(lock, until);
    }
    if (!can_tell() && std::chrono::steady_clock::now() >= until) {
      return Client::Delivered::kNothing;
    }
  }
}

void Session::deliver_until(const std::atomic<bool>& is_done) {
  Lock lock(mutex_);
  while (!is_done.load(std::memory_order_acquire)) {  // released by AnswerSink
    if (can_tell()) {
      tell(lock, &is_done);
    } else if (can_receive()) {
      receive(lock, std::chrono::steady_clock::now() + kNap);
    } else {
      changed_.wait(lock);
    }
  }
}

bool Session::is_telling() const {
  const Lock lock(mutex_);
  return telling_ == std::this_thread::get_id();
}

bool Session::can_tell() const { return table_.has_events() && !telling_; }

// With events at hand whoever tells them comes first.
bool Session::can_receive() const {
  return state_ == State::kLive && !is_receiving_ && !table_.has_events();
}

// What is there now: with a sink that submits there would always be more.
void Session::tell(Lock& lock, const std::atomic<bool>* is_done) {
  for (std::size_t left = table_.event_count(); left > 0 && can_tell(); --left) {
    if (is_done != nullptr && is_done->load(std::memory_order_acquire)) return;
    const Event event = table_.pop_event();
    bool is_sound = true;
    {
      const Telling telling(*this, lock, event.kind != EventKind::kToken);
      is_sound = tell_sink(event);
    }
    if (!is_sound) give_up();
  }
}

std::int64_t Session::take_completions() {
  // One ring's worth, so that the mutex comes free now and then.
  const std::int64_t most = connection_->welcome.granted.completion_entries;
  ipc::Completion completion;
  std::int64_t taken = 0;
  while (taken < most) {
    const auto next = connection_->end->next(completion, payload_);
    if (!next) return kBroken;
    if (!*next) break;
    table_.take(completion, payload_, connection_->end->arena());
    ++taken;
  }
  progress_ += static_cast<std::uint64_t>(taken);
  return taken;
}

bool Session::send_cancels() {
  while (!cancels_.empty()) {
    const RequestHandle request = cancels_.back();
    if (table_.contains(request)) {
      const auto sent = connection_->end->submit(ipc::Operation::kCancel,
                                                 static_cast<std::uint64_t>(request), {});
      if (!sent) return false;
      if (!*sent) return true;  // the ring is full: after the next completions
    }
    cancels_.pop_back();
  }
  return true;
}

void Session::receive(Lock& lock, TimePoint until) {
  std::int64_t taken = take_completions();
  if (taken == 0) {
    nap(lock, until);
    if (state_ == State::kLive) taken = take_completions();
  }
  if (state_ == State::kLive) {
    const bool is_sound = taken != kBroken && send_cancels();
    if (!is_sound || (taken == 0 && is_gone())) give_up();
  }
  settle();
}

void Session::nap(Lock& lock, TimePoint until) {
  const TimePoint now = std::chrono::steady_clock::now();
  if (now >= until) return;
  is_receiving_ = true;
  ipc::ClientEnd& end = *connection_->end;
  lock.unlock();
  end.wait(std::min<std::chrono::nanoseconds>(until - now, kNap), options_.spin);
  lock.lock();
  is_receiving_ = false;
}

}  // namespace deepinfer::client
