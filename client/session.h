// What a Client is inside: one connection, the requests that run over it, and the threads that share it.
//
// One mutex holds the state together. Three things are done without it, each by one thread at a time, and
// a connection is only dismantled while nobody is at them:
//   receiving    sleeping in ClientEnd::wait() until a completion comes. Whoever needs one and finds nobody
//                receiving does it; the others wait for `changed_`.
//   reading      sleeping on the socket until a reply comes, likewise.
//   connecting   the handshake.
// A fourth, telling the sinks, needs no connection: completions become events under the mutex, and one
// thread at a time calls the sinks with them, in order.
// The token path takes the mutex: several threads of one process write to one ring, and the memory that two
// processes share has no lock.
// Threads:  any
// Errors:   ClientError; a daemon that breaks the protocol is given up like one that died
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include <deepinfer/client.h>

#include "client/connection.h"
#include "client/request_table.h"
#include "client/submission.h"
#include "ipc/messages.h"

namespace deepinfer::client {

class Session final {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Session(const ClientOptions& options, Address address, Connection connection);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  [[nodiscard]] Client::Submitted submit(const Request& request, ClientSink& sink,
                                         const Client::SubmitOptions& options);
  bool cancel(RequestHandle request);
  Client::Delivered deliver(std::chrono::milliseconds timeout);
  // Tells sinks until `is_done` is set, which one of them does.
  void deliver_until(const std::atomic<bool>& is_done);
  // Whether this thread is inside a sink.
  [[nodiscard]] bool is_telling() const;

  // Asks the daemon and waits for its answer, at most connect_timeout.
  [[nodiscard]] std::variant<ipc::Reply, ClientError> ask(const ipc::Question& question);
  void note_ended(JobId job);

  [[nodiscard]] std::int64_t unfinished() const;
  [[nodiscard]] std::vector<JobId> take_lost_jobs();
  [[nodiscard]] ModelFacts model() const;
  [[nodiscard]] const std::filesystem::path& socket_path() const { return address_.socket; }
  // For the child after a fork: takes no lock.
  void close_socket_only();

 private:
  using Lock = std::unique_lock<std::mutex>;
  class Telling;

  // kClosing: given up, and somebody is still receiving or reading.
  enum class State : std::uint8_t { kNone, kLive, kClosing };

  // How long a caller has waited for the daemon to move.
  struct Patience {
    std::uint64_t progress = 0;
    TimePoint until{};
  };

  // All below: with the mutex held; those that take a Lock may release it in between.
  // session.cpp
  void adopt(Connection connection);
  [[nodiscard]] std::optional<ClientError> ensure_connected(Lock& lock);
  [[nodiscard]] std::optional<ClientError> reconnect(Lock& lock);
  [[nodiscard]] bool is_gone() const;
  void give_up();
  void settle();
  void lose();

  // session_receive.cpp
  static constexpr std::int64_t kBroken = -1;
  [[nodiscard]] std::int64_t take_completions();  // how many, or kBroken
  [[nodiscard]] bool send_cancels();              // false: the ring is broken
  void receive(Lock& lock, TimePoint until);
  void nap(Lock& lock, TimePoint until);
  [[nodiscard]] bool can_tell() const;
  [[nodiscard]] bool can_receive() const;
  void tell(Lock& lock, const std::atomic<bool>* is_done);

  // session_submit.cpp
  struct Again {};  // the connection went, and the arena with it
  using Published = std::variant<RequestHandle, ClientError, Again>;
  [[nodiscard]] Published try_submit(Lock& lock, const Request& request, RequestTable::Entry& entry,
                                     Patience& patience);
  [[nodiscard]] Published publish_patiently(Lock& lock, Submission& submission,
                                            RequestTable::Entry& entry, Patience& patience);
  [[nodiscard]] std::optional<ClientError> check_capacity();
  [[nodiscard]] Patience new_patience() const;
  [[nodiscard]] bool wait_for_room(Lock& lock, Patience& patience);
  [[nodiscard]] ClientError took_nothing() const;

  // session_ask.cpp
  enum class Sending : std::uint8_t { kSent, kGone, kStalled };
  [[nodiscard]] Sending send(Lock& lock, const ipc::Words& words, TimePoint deadline);
  [[nodiscard]] std::variant<ipc::Reply, ClientError> await_reply(Lock& lock, std::uint64_t number,
                                                                  TimePoint deadline);
  void read(Lock& lock, TimePoint until);
  bool take_replies();  // false: the socket is closed or broken
  [[nodiscard]] ClientError answered_nothing() const;

  const ClientOptions options_;
  const Address address_;

  mutable std::mutex mutex_;
  // Something may have come, a role is free, or the connection is another one.
  std::condition_variable changed_;

  State state_ = State::kNone;
  std::optional<Connection> connection_;  // unless kNone
  std::uint64_t generation_ = 0;          // of connections
  std::uint64_t empty_arena_bytes_ = 0;   // free in the arena at its begin
  ModelFacts model_;
  bool is_receiving_ = false;
  bool is_reading_ = false;
  bool is_connecting_ = false;
  std::uint64_t failures_ = 0;  // of connecting
  ClientError last_failure_;

  RequestTable table_;
  std::uint64_t progress_ = 0;              // completions so far
  std::vector<RequestHandle> cancels_;      // the ring was full
  std::vector<std::byte> payload_;          // of the completion at hand
  std::optional<std::thread::id> telling_;  // who calls the sinks

  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, std::optional<ipc::Reply>> questions_;  // by number
};

}  // namespace deepinfer::client
