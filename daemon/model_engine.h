// What the daemon needs of an engine: the real one, a scripted one in tests.
//
// Threads:  as deepinfer::Engine: prepare() and model() any, the rest the engine's thread
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include <deepinfer/engine.h>

namespace deepinfer::daemon {

class ModelEngine {
 public:
  ModelEngine() = default;
  ModelEngine(const ModelEngine&) = delete;
  ModelEngine& operator=(const ModelEngine&) = delete;
  virtual ~ModelEngine() = default;

  [[nodiscard]] virtual std::variant<PreparedRequest, RequestError> prepare(
      Request request) const = 0;
  [[nodiscard]] virtual RequestHandle submit(const PreparedRequest& request, Sink& sink) = 0;
  virtual bool cancel(RequestHandle request) = 0;
  virtual StepOutcome step() = 0;
  [[nodiscard]] virtual EngineStats stats() const = 0;
  [[nodiscard]] virtual const ModelFacts& model() const = 0;
};

// Null on failure, with the error filled. Called on the engine's thread.
using OpenModel = std::function<std::unique_ptr<ModelEngine>(EngineError&)>;

// Opens a checkpoint as `options` say.
[[nodiscard]] std::unique_ptr<ModelEngine> open_model_engine(const EngineOptions& options,
                                                             EngineError& error);

}  // namespace deepinfer::daemon
