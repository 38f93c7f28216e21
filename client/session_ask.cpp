// Questions to the daemon: each has a number, and whoever reads a reply files it under its number.
#include <algorithm>
#include <string>
#include <utility>

#include "client/errors.h"
#include "client/session.h"
#include "ipc/codec.h"
#include "ipc/socket.h"

namespace deepinfer::client {
namespace {

constexpr std::chrono::milliseconds kNap{100};
constexpr std::chrono::milliseconds kSendNap{5};  // nothing tells when the socket has room
constexpr int kMostConnections = 3;

}  // namespace

std::variant<ipc::Reply, ClientError> Session::ask(const ipc::Question& question) {
  Lock lock(mutex_);
  for (int i = 0; i < kMostConnections; ++i) {
    if (auto error = ensure_connected(lock)) return *std::move(error);
    const TimePoint deadline = std::chrono::steady_clock::now() + options_.connect_timeout;
    const std::uint64_t number = ++last_number_;
    ipc::Words words;
    ipc::encode(ipc::ControlRequest{.number = number, .question = question}, words);
    if (ipc::bytes_of(words).size() > ipc::kMaxControlBytes) {
      return usage("invalid_value", "the names and metadata are too long", "JobOptions",
                   "at most 256 bytes of name and 16 entries of metadata");
    }

    questions_.emplace(number, std::nullopt);
    switch (send(lock, words, deadline)) {
      case Sending::kSent:
        return await_reply(lock, number, deadline);
      case Sending::kStalled:
        questions_.erase(number);
        return answered_nothing();
      case Sending::kGone:
        questions_.erase(number);
        break;  // it never reached a daemon: again
    }
  }
  return went_away(address_.socket);
}

Session::Sending Session::send(Lock& lock, const ipc::Words& words, TimePoint deadline) {
  const std::uint64_t generation = generation_;
  while (state_ == State::kLive && generation == generation_) {
    const auto sent = ipc::send_datagram(connection_->socket.number(), ipc::bytes_of(words), {});
    if (!sent) {
      give_up();
      return Sending::kGone;
    }
    if (*sent) return Sending::kSent;
    const TimePoint now = std::chrono::steady_clock::now();
    if (now >= deadline) return Sending::kStalled;
    changed_.wait_until(lock, std::min(deadline, now + kSendNap));
  }
  return Sending::kGone;
}

std::variant<ipc::Reply, ClientError> Session::await_reply(Lock& lock, std::uint64_t number,
                                                           TimePoint deadline) {
  while (true) {
    const auto found = questions_.find(number);
    if (found == questions_.end()) return went_away(address_.socket);
    if (found->second) {
      ipc::Reply reply = *std::move(found->second);
      questions_.erase(found);
      return reply;
    }
    const TimePoint now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      questions_.erase(found);
      return answered_nothing();
    }
    if (state_ == State::kLive && !is_reading_) {
      read(lock, std::min(deadline, now + kNap));
    } else {
      changed_.wait_until(lock, deadline);
    }
  }
}

void Session::read(Lock& lock, TimePoint until) {
  is_reading_ = true;
  const int socket = connection_->socket.number();
  lock.unlock();
  const auto timeout =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  static_cast<void>(ipc::wait_readable(socket, std::max(timeout, std::chrono::milliseconds{0})));
  lock.lock();
  is_reading_ = false;
  if (state_ == State::kLive && !take_replies()) give_up();
  settle();
}

bool Session::take_replies() {
  while (true) {
    const auto datagram =
        ipc::receive_datagram(connection_->socket.number(), ipc::kMaxControlBytes, 0);
    if (!datagram) return false;
    if (!*datagram) return true;
    const auto words = ipc::to_words((*datagram)->bytes);
    if (!words) return false;
    auto reply = ipc::decode_control_reply(*words);
    if (!reply) return false;
    // Here, so that a job is known before the connection can be lost.
    if (const auto* job = std::get_if<JobId>(&reply->reply)) table_.note_opened(*job);
    const auto found = questions_.find(reply->number);
    if (found != questions_.end()) found->second = std::move(reply->reply);
  }
}

ClientError Session::answered_nothing() const {
  return stalled(address_.socket, "the daemon gave no answer within " +
                                      std::to_string(options_.connect_timeout.count()) + " ms");
}

}  // namespace deepinfer::client
