// The anchor: a UNIX SEQPACKET socket, one datagram each way, both sides in blocking calls.
#pragma once

#include <memory>

#include "tests/bench/ipc/arm.h"

namespace deepinfer::bench {

[[nodiscard]] std::unique_ptr<Arm> make_socket_arm();

}  // namespace deepinfer::bench
