// Users and groups by name or number.
//
// Errors:   kInvalidArgument no such user or group, or a number out of range; kResourceExhausted the
//           system cannot be asked
// Threads:  any; asks the system's account databases
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace deepinfer::config {

// Digits are an id, whether or not an account has it; anything else is a name.
[[nodiscard]] Result<std::uint32_t> user_id(std::string_view text);
[[nodiscard]] Result<std::uint32_t> group_id(std::string_view text);

}  // namespace deepinfer::config
