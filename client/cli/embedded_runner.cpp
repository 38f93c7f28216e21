#include "client/cli/embedded_runner.h"

#include <utility>

namespace deepinfer::cli {
namespace {

class EmbeddedRunner final : public Runner {
 public:
  explicit EmbeddedRunner(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  Engine::Submitted submit(const Request& request, Sink& sink) override {
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

std::unique_ptr<Runner> open_embedded(const EngineOptions& options, EngineError& error) {
  auto engine = Engine::open(options, error);
  if (!engine) return nullptr;
  return std::make_unique<EmbeddedRunner>(std::move(engine));
}

}  // namespace deepinfer::cli
