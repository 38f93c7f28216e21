// All clients: accepts them, greets them, serves their rings and questions, and lets them go.
//
// Every way out of a connection (hang-up, death of the process, protocol error, shutdown) is close(), which
// works once; the object goes in the loop's next round, since it may be closing in a callback of its own.
// Threads:  confined to the loop's thread
// Lifetime: Parts outlive it
// Errors:   of one client end that client alone, with one line in the log
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/connection.h"
#include "daemon/control.h"
#include "daemon/gateway.h"
#include "daemon/loop.h"
#include "daemon/peer.h"
#include "ipc/messages.h"
#include "ipc/socket.h"

namespace deepinfer::daemon {

class Log;

class Clients {
 public:
  struct Parts {
    Loop& loop;
    Gateway& gateway;
    Control& control;
    Log& log;
    const Clock& clock;
    PeerPolicy policy;
    ipc::Geometry geometry;        // the most that is granted
    std::int64_t max_clients = 0;  // sessions
    std::int64_t max_unfinished = 0;
    std::uint64_t epoch = 0;
    std::string version;
    std::function<DaemonState()> state;
    std::function<ModelFacts()> model;
    std::function<std::uint64_t()> random;
    std::function<void()> on_closed;  // a session has gone
  };
  Clients(Parts parts, ipc::Listener listener);
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  ~Clients();

  // False when the kernel would not watch the socket: nobody could be served.
  [[nodiscard]] bool is_listening() const { return listener_poll_.has_value(); }
  // The listening socket goes; who is connected stays.
  void stop_accepting();
  // Shown in every session's memory.
  void set_draining(bool is_draining);
  // Closes the sessions that the gateway has found broken.
  void close_broken();
  void close_all();

  [[nodiscard]] std::int64_t sessions() const { return sessions_; }

 private:
  void accept_some();
  void add(FileDescriptor socket);
  void read_socket(Connection& connection);
  void greet(Connection& connection, const ipc::Datagram& datagram);
  [[nodiscard]] Result<ipc::Welcome> welcome(Connection& connection, const ipc::Hello& hello);
  [[nodiscard]] std::optional<ipc::Refusal> refusal_of(const Connection& connection,
                                                       const ipc::Hello& hello) const;
  [[nodiscard]] ipc::Geometry granted(const ipc::Geometry& wanted) const;
  void serve_all(Connection& connection);
  void answer(Connection& connection, const ipc::Datagram& datagram);
  void send(Connection& connection, ipc::WordView words, std::span<const int> descriptors);
  void visit(Connection& connection);
  void visit_again();
  void log_end(const Connection& connection, const std::string& reason);
  void close(Connection& connection, const std::string& reason);
  void close_late_hellos();
  void watch_process(Connection& connection);

  Parts parts_;
  std::optional<ipc::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> graveyard_;  // until the loop's next round
  std::vector<SessionId> visits_;                       // rings with more in them
  std::uint64_t next_id_ = 1;
  std::int64_t sessions_ = 0;
  bool is_draining_ = false;
  Wakeup next_round_;
  Timer hello_timer_;
  Timer accept_timer_;
  std::optional<Poll> listener_poll_;
};

}  // namespace deepinfer::daemon
