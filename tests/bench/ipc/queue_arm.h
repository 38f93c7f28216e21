// The second anchor: two Boost.Interprocess message queues, 256 messages each.
#pragma once

#include <memory>

#include "tests/bench/ipc/arm.h"

namespace deepinfer::bench {

[[nodiscard]] std::unique_ptr<Arm> make_queue_arm();

}  // namespace deepinfer::bench
