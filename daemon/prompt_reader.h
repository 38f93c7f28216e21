// The prompt of a submission, copied out of the session's arena into the request.
//
// Threads:  confined to the loop's thread
// Cost:     one copy of the prompt
// Errors:   kInvalidArgument a span that does not lie in the arena, or has no whole number of ids
#pragma once

#include <cstdint>

#include "base/result.h"
#include "ipc/daemon_end.h"
#include "ipc/messages.h"

namespace deepinfer::daemon {

// What the spans of a prompt claim to hold, in bytes; no overflow.
[[nodiscard]] std::uint64_t prompt_bytes(const ipc::SubmitMessage& message);

// Moves the request out of the message and fills its prompt.
[[nodiscard]] Result<Request> read_prompt(const ipc::DaemonEnd& end, ipc::SubmitMessage& message);

}  // namespace deepinfer::daemon
