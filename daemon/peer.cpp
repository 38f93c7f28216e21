#include "daemon/peer.h"

#include <algorithm>

namespace deepinfer::daemon {
namespace {

bool has(const std::vector<std::uint32_t>& list, std::uint32_t id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

}  // namespace

bool is_operator(const PeerPolicy& policy, const ipc::PeerCredentials& peer) {
  return peer.uid == 0 || peer.uid == policy.daemon_uid;
}

bool is_admitted(const PeerPolicy& policy, const ipc::PeerCredentials& peer) {
  if (policy.allowed_uids.empty() && policy.allowed_gids.empty()) return true;
  return is_operator(policy, peer) || has(policy.allowed_uids, peer.uid) ||
         has(policy.allowed_gids, peer.gid);
}

}  // namespace deepinfer::daemon
