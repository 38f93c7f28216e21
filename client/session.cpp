#include "client/session.h"

#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "client/errors.h"

namespace deepinfer::client {

Session::Session(const ClientOptions& options, Address address, Connection connection)
    : options_(options), address_(std::move(address)) {
  adopt(std::move(connection));
}

bool Session::cancel(RequestHandle request) {
  const Lock lock(mutex_);
  if (!table_.contains(request)) return false;
  cancels_.push_back(request);
  if (state_ == State::kLive && !send_cancels()) give_up();
  return true;
}

void Session::note_ended(JobId job) {
  const Lock lock(mutex_);
  table_.note_ended(job);
}

std::int64_t Session::unfinished() const {
  const Lock lock(mutex_);
  return table_.unfinished();
}

std::vector<JobId> Session::take_lost_jobs() {
  const Lock lock(mutex_);
  if (state_ == State::kLive && is_gone()) give_up();
  return table_.take_lost_jobs();
}

ModelFacts Session::model() const {
  const Lock lock(mutex_);
  return model_;
}

void Session::close_socket_only() {
  if (connection_) ::close(connection_->socket.number());
}

void Session::adopt(Connection connection) {
  model_ = connection.welcome.model;
  empty_arena_bytes_ = connection.end->arena().free_bytes();
  connection_ = std::move(connection);
  state_ = State::kLive;
  ++generation_;
}

std::optional<ClientError> Session::ensure_connected(Lock& lock) {
  if (state_ == State::kLive && is_gone()) give_up();
  while (state_ != State::kLive) {
    if (state_ == State::kNone && !is_connecting_) {
      if (auto error = reconnect(lock)) return error;
      continue;
    }
    // Several threads find out together, and one of them connects for all.
    const std::uint64_t failures = failures_;
    changed_.wait(lock);
    if (failures != failures_) return last_failure_;
  }
  return std::nullopt;
}

std::optional<ClientError> Session::reconnect(Lock& lock) {
  is_connecting_ = true;
  lock.unlock();
  auto opened = open_patiently(address_, options_.connect_timeout, options_.reconnect_timeout);
  lock.lock();
  is_connecting_ = false;
  changed_.notify_all();
  if (auto* error = std::get_if<ClientError>(&opened)) {
    ++failures_;
    last_failure_ = *error;
    return *error;
  }
  adopt(std::get<Connection>(std::move(opened)));
  return std::nullopt;
}

bool Session::is_gone() const {
  return (connection_->end->flags() & ipc::kFlagDead) != 0 ||
         has_hung_up(connection_->socket.number());
}

void Session::give_up() {
  if (state_ != State::kLive) return;
  state_ = State::kClosing;
  ::shutdown(connection_->socket.number(), SHUT_RDWR);  // wakes whoever is reading
  settle();
}

void Session::settle() {
  if (state_ == State::kClosing && !is_receiving_) {
    lose();
    if (!is_reading_) {
      connection_.reset();
      state_ = State::kNone;
    }
  }
  changed_.notify_all();
}

// What the daemon has published and sent before it went is still there.
void Session::lose() {
  static_cast<void>(take_completions());
  take_replies();
  table_.lose_all();
  cancels_.clear();
  std::erase_if(questions_, [](const auto& question) { return !question.second; });
}

}  // namespace deepinfer::client
