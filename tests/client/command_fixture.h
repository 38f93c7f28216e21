// Runs a command in this process with a scripted engine, and keeps what it said.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "client/cli/app.h"
#include "tests/client/fake_runner.h"
#include "tests/client/temporary_folder.h"

namespace deepinfer::cli {

class CommandTest : public ::testing::Test {
 protected:
  // Runs `deepinfer WORDS...`; the engine takes a signal after `stop_after` looks, never if < 0.
  int run(const std::vector<std::string>& words, int stop_after = -1) {
    std::vector<const char*> arguments;
    arguments.reserve(words.size());
    for (const std::string& word : words) arguments.push_back(word.c_str());
    out.str("");
    err.str("");
    submitted.clear();
    int looks = 0;
    const CommandContext context{
        out,
        err,
        clock,
        [] { return std::chrono::system_clock::time_point{}; },
        [&looks, stop_after] { return stop_after >= 0 && looks++ >= stop_after ? 2 : 0; },
        [this](const EngineOptions& options, EngineError& error) { return open(options, error); },
        environment,
        false,
    };
    return run_app(arguments, context);
  }

  // `deepinfer batch in.jsonl -o out.jsonl` with an embedded engine.
  int run_batch_file(std::vector<std::string> more = {}, int stop_after = -1) {
    std::vector<std::string> words{"batch",      folder / "in.jsonl", "-o", folder / "out.jsonl",
                                   "--embedded", "--model",           "m",  "--progress",
                                   "none"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, stop_after);
  }

  void write_input(const std::string& text) { write_file(folder / "in.jsonl", text); }
  std::string output() const { return content_of(folder / "out.jsonl"); }
  std::string errors() const { return content_of(folder / "out.errors.jsonl"); }
  bool has(const std::string& name) const { return std::filesystem::exists(folder / name); }

  TemporaryFolder folder;
  ManualClock clock;
  std::ostringstream out;
  std::ostringstream err;
  config::Variables environment;
  std::vector<std::string> submitted;  // custom_ids that reached the engine in the last run
  EngineOptions opened;
  std::int64_t per_step = 1;
  EngineError open_error;  // when set, opening fails with it

 private:
  // Notes what was submitted in the fixture, which outlives the runner.
  class Noting final : public Runner {
   public:
    Noting(std::int64_t per_step, std::vector<std::string>& submitted)
        : runner_(per_step), submitted_(submitted) {}
    Engine::Submitted submit(const Request& request, Sink& sink) override {
      submitted_.push_back(request.custom_id);
      return runner_.submit(request, sink);
    }
    bool cancel(RequestHandle request) override { return runner_.cancel(request); }
    StepOutcome step() override { return runner_.step(); }
    [[nodiscard]] EngineStats stats() const override { return runner_.stats(); }
    [[nodiscard]] const ModelFacts& model() const override { return runner_.model(); }

   private:
    FakeRunner runner_;
    std::vector<std::string>& submitted_;
  };

  std::unique_ptr<Runner> open(const EngineOptions& options, EngineError& error) {
    opened = options;
    error = open_error;
    if (error.fault != EngineFault::kNone) return nullptr;
    return std::make_unique<Noting>(per_step, submitted);
  }
};

}  // namespace deepinfer::cli
