// Who may use the daemon: decided by the kernel's word for the peer, never by the peer's own.
//
// Threads:  pure functions
#pragma once

#include <cstdint>
#include <vector>

#include "ipc/socket.h"

namespace deepinfer::daemon {

struct PeerPolicy {
  std::vector<std::uint32_t> allowed_uids;  // both lists empty: whoever the socket's mode admits
  std::vector<std::uint32_t> allowed_gids;  // the peer's own group at the time it connected
  std::uint32_t daemon_uid = 0;
};

// Root and the daemon's own user: may drain, see and cancel everybody's jobs.
[[nodiscard]] bool is_operator(const PeerPolicy& policy, const ipc::PeerCredentials& peer);
[[nodiscard]] bool is_admitted(const PeerPolicy& policy, const ipc::PeerCredentials& peer);

}  // namespace deepinfer::daemon
