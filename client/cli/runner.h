// What a command needs of an engine: the embedded one, a scripted one in tests.
//
// Threads:  as deepinfer::Engine: confined to one thread
// Lifetime: a sink outlives the requests that were submitted with it
#pragma once

#include <functional>
#include <memory>

#include <deepinfer/engine.h>

namespace deepinfer::cli {

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  [[nodiscard]] virtual Engine::Submitted submit(const Request& request, Sink& sink) = 0;
  virtual bool cancel(RequestHandle request) = 0;
  virtual StepOutcome step() = 0;
  [[nodiscard]] virtual EngineStats stats() const = 0;
  [[nodiscard]] virtual const ModelFacts& model() const = 0;
};

// Null on failure, with the error filled.
using OpenRunner = std::function<std::unique_ptr<Runner>(const EngineOptions&, EngineError&)>;

}  // namespace deepinfer::cli
