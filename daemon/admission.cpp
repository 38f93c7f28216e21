#include "daemon/admission.h"

#include <string>

namespace deepinfer::daemon {
namespace {

RequestError full(std::int64_t count, std::int64_t most, const char* whose) {
  return {"over_capacity",
          std::to_string(count) + " answers of " + whose + " are unfinished, and " +
              std::to_string(most) + " is the most",
          ""};
}

}  // namespace

std::optional<RequestError> refusal_of(const AdmissionLimits& limits, const AdmissionLoad& load) {
  switch (load.state) {
    case DaemonState::kReady:
      break;
    case DaemonState::kLoading:
      return RequestError{"loading", "the daemon is loading its model", ""};
    case DaemonState::kDraining:
    case DaemonState::kDrained:
      return RequestError{"draining", "the daemon is draining and takes no new requests", ""};
    case DaemonState::kStopping:
      return RequestError{"stopping", "the daemon is stopping and takes no new requests", ""};
  }
  if (load.unfinished + load.asked > limits.max_unfinished) {
    return full(load.unfinished, limits.max_unfinished, "this session");
  }
  if (load.queued + load.asked > limits.max_queued) {
    return full(load.queued, limits.max_queued, "all clients");
  }
  return std::nullopt;
}

}  // namespace deepinfer::daemon
