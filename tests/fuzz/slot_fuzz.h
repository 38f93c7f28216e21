// What must hold for any bytes that a client leaves in the memory which the daemon reads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepinfer::ipc {

// Lays the bytes out as the client's words, a submission slot and an arena, and lets a DaemonEnd work on
// them: every submission is taken, refused alone or ends the session, as the documents say.
[[nodiscard]] bool slot_is_handled(const std::uint8_t* data, std::size_t size);

}  // namespace deepinfer::ipc
