#include "daemon/model_engine.h"

#include <utility>

namespace deepinfer::daemon {
namespace {

class RealEngine final : public ModelEngine {
 public:
  explicit RealEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  [[nodiscard]] std::variant<PreparedRequest, RequestError> prepare(
      Request request) const override {
    return engine_->prepare(std::move(request));
  }
  [[nodiscard]] RequestHandle submit(const PreparedRequest& request, Sink& sink) override {
    return engine_->submit(request, sink);
  }
  bool cancel(RequestHandle request) override { return engine_->cancel(request); }
  StepOutcome step() override { return engine_->step(); }
  [[nodiscard]] EngineStats stats() const override { return engine_->stats(); }
  [[nodiscard]] const ModelFacts& model() const override { return engine_->model(); }

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<ModelEngine> open_model_engine(const EngineOptions& options, EngineError& error) {
  auto engine = Engine::open(options, error);
  if (engine == nullptr) return nullptr;
  return std::make_unique<RealEngine>(std::move(engine));
}

}  // namespace deepinfer::daemon
