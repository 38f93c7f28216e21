// Paths of sockets as the kernel takes them, and whether their folder can be trusted.
//
// Only for the socket files beside it.
// Threads:  pure functions
// Errors:   kInvalidArgument
#pragma once

#include <filesystem>

#include <sys/un.h>

#include "base/result.h"

namespace deepinfer::ipc {

inline constexpr std::size_t kMostPathBytes = sizeof(sockaddr_un::sun_path) - 1;

[[nodiscard]] Result<sockaddr_un> address_of(const std::filesystem::path& path);

// Whether `folder` is this user's own and nobody else may enter it. Fine when it is not there.
[[nodiscard]] Status check_private(const std::filesystem::path& folder);

// In /tmp everybody can make the folder that a user's daemon would take: it has to be private. Of other
// paths nothing is asked.
[[nodiscard]] Status check_folder(const std::filesystem::path& socket_path);

}  // namespace deepinfer::ipc
