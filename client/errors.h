// The ClientErrors of this library, each in one place. docs/reference/client-sdk.md lists their codes.
//
// Threads:  pure functions
#pragma once

#include <filesystem>
#include <string>

#include <deepinfer/client.h>

#include "base/result.h"
#include "ipc/messages.h"

namespace deepinfer::client {

// Nobody there, or nobody who finishes a handshake: `daemon_unreachable`.
[[nodiscard]] ClientError unreachable(const std::filesystem::path& socket, std::string what);
// It went away in the middle of a call: `daemon_lost`.
[[nodiscard]] ClientError went_away(const std::filesystem::path& socket);
// Connected, but it takes or answers nothing: `daemon_stalled`.
[[nodiscard]] ClientError stalled(const std::filesystem::path& socket, std::string what);
// What answers speaks another protocol: `protocol_mismatch`.
[[nodiscard]] ClientError mismatch(const std::filesystem::path& socket, std::string what);
// The socket cannot be used by this process, by the code of connect_to().
[[nodiscard]] ClientError from_socket(const std::filesystem::path& socket, const Error& error);
// The daemon's own words. Its code decides the fault.
[[nodiscard]] ClientError from_refusal(const ipc::Refusal& refusal, std::string where);
[[nodiscard]] ClientError usage(std::string code, std::string what, std::string where,
                                std::string mend);
// After fork(), in the child.
[[nodiscard]] ClientError not_of_this_process();

}  // namespace deepinfer::client
