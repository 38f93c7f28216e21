// A request in the engine: what its choices share, the choices themselves, and who listens.
//
// Threads:  confined to the engine thread
// Lifetime: the sink outlives it, by the caller's promise
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <deepinfer/engine.h>

#include "engine/scheduler/scheduler.h"
#include "engine/sequence.h"

namespace deepinfer::engine {

struct RunningRequest {
  RunningRequest(RequestHandle request_handle, RequestFacts request_facts, Sink& request_sink)
      : handle(request_handle), facts(std::move(request_facts)), sink(request_sink) {}

  RequestHandle handle;
  const RequestFacts facts;
  Sink& sink;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::vector<std::unique_ptr<Sequence>> choices;
  std::vector<SequenceKey> keys;  // of the choices, for the scheduler
  std::int64_t unfinished = 0;    // choices
  bool cancelled = false;
};

}  // namespace deepinfer::engine
