#include "client/cli/embedded_runner.h"

#include <utility>

namespace deepinfer::cli {
namespace {

class EmbeddedRunner final : public Runner {
 public:
  EmbeddedRunner(std::unique_ptr<Engine> engine, std::int64_t max_sequences)
      : engine_(std::move(engine)) {
    facts_.model = engine_->model().name;
    facts_.where = "engine";
    // Twice what runs at once: a free place never waits for the next line.
    facts_.max_in_flight = 2 * static_cast<std::size_t>(max_sequences);
  }

  Submitted submit(const Request& request, RunnerSink& sink) override {
    Engine::Submitted submitted = engine_->submit(request, sink);
    if (submitted.error) return *std::move(submitted.error);
    return submitted.request;
  }
  bool cancel(RequestHandle request) override { return engine_->cancel(request); }
  StepOutcome step(std::chrono::milliseconds /*wait*/) override { return engine_->step(); }
  void finish() override {}
  [[nodiscard]] EngineStats stats() override { return engine_->stats(); }
  [[nodiscard]] const RunnerFacts& facts() const override { return facts_; }

 private:
  std::unique_ptr<Engine> engine_;
  RunnerFacts facts_;
};

}  // namespace

std::unique_ptr<Runner> open_embedded(const EngineOptions& options, EngineError& error) {
  auto engine = Engine::open(options, error);
  if (!engine) return nullptr;
  return std::make_unique<EmbeddedRunner>(std::move(engine), options.max_sequences);
}

}  // namespace deepinfer::cli
