#include "tests/client_sdk/client_fixture.h"
#include "tests/client_sdk/leak_check.h"

namespace deepinfer::client {
namespace {

using Leak = ClientTest;

TEST_F(Leak, IsNotThereAfterTenThousandSessions) {
  FakeDaemon daemon(socket());

  expect_no_leak(daemon, options(), 10'000);
}

}  // namespace
}  // namespace deepinfer::client
