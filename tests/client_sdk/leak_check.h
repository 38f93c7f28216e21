// Opens and closes a client many times, and fails when descriptors or mappings are left behind.
//
// Threads:  as the tests; counts the whole process, the daemon of the test included
#pragma once

#include <deepinfer/client.h>

#include "tests/client_sdk/fake_daemon.h"

namespace deepinfer::client {

void expect_no_leak(FakeDaemon& daemon, const ClientOptions& options, int sessions);

}  // namespace deepinfer::client
