// One connection to a daemon: the handshake, and what it leaves.
//
// Threads:  open_connection() any; a Connection belongs to its Session
// Errors:   ClientError; `can_retry` says whether the daemon may be there in a moment
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include <deepinfer/client.h>

#include "base/file_descriptor.h"
#include "ipc/client_end.h"
#include "ipc/messages.h"

namespace deepinfer::client {

struct Connection {
  FileDescriptor socket;
  std::unique_ptr<ipc::ClientEnd> end;
  ipc::Welcome welcome;
};

struct ConnectFailure {
  ClientError error;
  bool can_retry = false;
};

// Where to connect, and under what name.
struct Address {
  std::filesystem::path socket;
  std::string name;
};
// Fills in what the options leave open.
[[nodiscard]] Address address_of(const ClientOptions& options);

// At most `timeout` until the daemon has answered.
[[nodiscard]] std::variant<Connection, ConnectFailure> open_connection(
    const Address& address, std::chrono::milliseconds timeout);

// Tries again while that can help, with growing random pauses, until `patience` has passed. One attempt
// takes at most `timeout`.
[[nodiscard]] std::variant<Connection, ClientError> open_patiently(
    const Address& address, std::chrono::milliseconds timeout, std::chrono::milliseconds patience);

// Whether the peer of a connected socket is gone. What it has sent before may still be there.
[[nodiscard]] bool has_hung_up(int socket);

}  // namespace deepinfer::client
