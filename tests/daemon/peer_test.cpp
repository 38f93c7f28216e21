#include "daemon/peer.h"

#include <gtest/gtest.h>

namespace deepinfer::daemon {
namespace {

ipc::PeerCredentials peer(uid_t uid, gid_t gid) { return {1, uid, gid}; }

TEST(Peer, IsWhoeverTheSocketAdmitsWhenNobodyIsNamed) {
  EXPECT_TRUE(is_admitted({{}, {}, 990}, peer(1234, 1234)));
}

TEST(Peer, MustBeNamedOnceAnybodyIs) {
  const PeerPolicy policy{{1000}, {50}, 990};

  EXPECT_TRUE(is_admitted(policy, peer(1000, 1)));
  EXPECT_TRUE(is_admitted(policy, peer(1001, 50)));
  EXPECT_FALSE(is_admitted(policy, peer(1001, 51)));
  EXPECT_FALSE(is_admitted(policy, peer(50, 1000)));
}

TEST(Peer, IsAlwaysAdmittedAsRootOrAsTheDaemonsUser) {
  const PeerPolicy policy{{1000}, {}, 990};

  EXPECT_TRUE(is_admitted(policy, peer(0, 0)));
  EXPECT_TRUE(is_admitted(policy, peer(990, 990)));
  EXPECT_TRUE(is_operator(policy, peer(0, 0)));
  EXPECT_TRUE(is_operator(policy, peer(990, 1)));
  EXPECT_FALSE(is_operator(policy, peer(1000, 1000)));
}

}  // namespace
}  // namespace deepinfer::daemon
