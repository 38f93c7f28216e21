// One client's socket, from its hello to its end, with the doorbell of its session.
//
// Threads:  confined to the loop's thread
// Lifetime: owned by Clients, which closes it; nothing here destroys it
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "daemon/job_table.h"
#include "daemon/loop.h"
#include "daemon/session.h"
#include "ipc/socket.h"

namespace deepinfer::daemon {

struct Connection {
  SessionId id{};
  FileDescriptor socket;
  ipc::PeerCredentials peer;
  bool is_operator = false;
  std::string name;                 // as the client calls itself; escaped before it is logged
  Clock::TimePoint hello_deadline;  // of one that has not said hello
  bool has_said_hello = false;
  FileDescriptor process;  // pidfd: a child of the client may keep the socket open

  Session* session = nullptr;  // the gateway's; null for a control connection
  bool is_in_visits = false;   // is in Clients' list of sessions to serve again
  // Last: they watch the descriptors above.
  std::optional<Poll> socket_poll;
  std::optional<Poll> process_poll;
  std::optional<Poll> doorbell_poll;
};

}  // namespace deepinfer::daemon
