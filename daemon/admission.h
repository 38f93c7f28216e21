// Whether a request may be accepted now. Pure.
//
// Threads:  pure functions
// Errors:   a RequestError with the code "loading", "draining", "stopping" or "over_capacity"; every one
//           of them can be tried again later
#pragma once

#include <cstdint>
#include <optional>

#include <deepinfer/jobs.h>
#include <deepinfer/types.h>

namespace deepinfer::daemon {

struct AdmissionLimits {
  std::int64_t max_queued = 0;      // answers (a request has n) of all clients that are unfinished
  std::int64_t max_unfinished = 0;  // of one session, with those not delivered
};

struct AdmissionLoad {
  DaemonState state = DaemonState::kLoading;
  std::int64_t queued = 0;
  std::int64_t unfinished = 0;
  std::int64_t asked = 1;  // answers of the request at hand
};

[[nodiscard]] std::optional<RequestError> refusal_of(const AdmissionLimits& limits,
                                                     const AdmissionLoad& load);

}  // namespace deepinfer::daemon
