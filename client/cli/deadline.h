// When a request must have ended: a time from now ("90min"), or a moment (RFC 3339).
//
// Errors:   kInvalidArgument with what was expected
// Threads:  pure functions
#pragma once

#include <chrono>
#include <string_view>

#include "base/result.h"

namespace deepinfer::cli {

// One moment on two clocks, so that calendar times can be met by the steady one.
struct Moment {
  std::chrono::steady_clock::time_point steady{};
  std::chrono::system_clock::time_point calendar{};
};

// "2027-01-31T08:00:00Z", "2027-01-31T10:00:00.5+02:00".
[[nodiscard]] Result<std::chrono::system_clock::time_point> parse_calendar_time(
    std::string_view text);

// A duration counts from `now`. A moment in the past is allowed: the request ends at once.
[[nodiscard]] Result<std::chrono::steady_clock::time_point> parse_deadline(std::string_view text,
                                                                           const Moment& now);

}  // namespace deepinfer::cli
