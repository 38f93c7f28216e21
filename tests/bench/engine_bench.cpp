// How fast does the embedded engine answer? Decode tokens/s of 1, 8, ... requests at once and prefill
// tokens/s of one, of any checkpoint, through <deepinfer/engine.h> alone.
//
//   deepinfer-bench-engine MODEL [--threads N] [--prompt-length N] [--new-tokens N] [--batch N]...
//
// Decode is measured from the moment at which every request has its first token: nothing but decoding
// runs then. Prompts differ in their first token, so no cached prefix helps.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <deepinfer/engine.h>
#include <nlohmann/json.hpp>

#include "tests/bench/report.h"

namespace {

using deepinfer::Engine;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Parameters {
  std::string model;
  std::string commit = "unknown";
  int threads = 1;
  int repetitions = 5;
  std::int64_t prompt_length = 300;
  std::int64_t new_tokens = 64;
  std::vector<int> batches = {1, 8};
};

struct Rates {
  double prefill = 0;  // prompt tokens/s, from submission to the first token of the last request
  double decode = 0;   // tokens/s of all requests together
};

// Notes when each token came.
class TimingSink final : public deepinfer::Sink {
 public:
  void on_token(const deepinfer::TokenEvent& event) override {
    (void)event;
    times_.push_back(Clock::now());
  }
  void on_finished(deepinfer::RequestResult result) override {
    const deepinfer::Choice& choice = result.choices.front();
    if (choice.error) problem_ = choice.error->message;
    is_finished_ = true;
  }

  [[nodiscard]] const std::vector<Clock::time_point>& times() const { return times_; }
  [[nodiscard]] bool is_finished() const { return is_finished_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::vector<Clock::time_point> times_;
  std::string problem_;
  bool is_finished_ = false;
};

// Ordinary tokens that every vocabulary of ours has, after a first one that no other prompt has.
deepinfer::Request make_request(const Parameters& parameters, std::int64_t first) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < parameters.prompt_length; ++i) {
    ids.push_back(static_cast<std::int32_t>(3 + (i == 0 ? first : i) % 250));
  }
  deepinfer::Request request;
  request.prompt = deepinfer::TokenPrompt{std::move(ids)};
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  request.sampling.max_tokens = parameters.new_tokens;
  return request;
}

Rates rates_of(const std::vector<std::unique_ptr<TimingSink>>& sinks, Clock::time_point begun,
               const Parameters& parameters) {
  Clock::time_point all_started = begun;
  Clock::time_point ended = begun;
  for (const auto& sink : sinks) {
    all_started = std::max(all_started, sink->times().front());
    ended = std::max(ended, sink->times().back());
  }
  std::int64_t decoded = 0;
  for (const auto& sink : sinks) {
    decoded += std::count_if(sink->times().begin(), sink->times().end(),
                             [&](Clock::time_point time) { return time > all_started; });
  }
  const auto prompts =
      static_cast<double>(sinks.size()) * static_cast<double>(parameters.prompt_length);
  return {.prefill = prompts / Seconds(all_started - begun).count(),
          .decode = static_cast<double>(decoded) / Seconds(ended - all_started).count()};
}

// Runs `batch` requests to their ends. `serial` makes their prompts unlike those of other calls.
std::optional<Rates> measure(Engine& engine, const Parameters& parameters, int batch,
                             std::int64_t serial) {
  std::vector<std::unique_ptr<TimingSink>> sinks;
  const auto begun = Clock::now();
  for (int i = 0; i < batch; ++i) {
    sinks.push_back(std::make_unique<TimingSink>());
    const auto submitted =
        engine.submit(make_request(parameters, serial * batch + i), *sinks.back());
    if (submitted.error) {
      std::cerr << "deepinfer-bench-engine: error: " << submitted.error->message
                << " (request): choose other lengths\n";
      return std::nullopt;
    }
  }
  while (engine.step() == deepinfer::StepOutcome::kWorked) {
  }
  for (const auto& sink : sinks) {
    if (!sink->is_finished() || !sink->problem().empty() || sink->times().empty()) {
      std::cerr << "deepinfer-bench-engine: error: a request failed (" << sink->problem()
                << "): see docs/reference/errors.md\n";
      return std::nullopt;
    }
  }
  return rates_of(sinks, begun, parameters);
}

int run(const Parameters& parameters) {
  deepinfer::EngineOptions options;
  options.model = parameters.model;
  options.threads = parameters.threads;
  deepinfer::EngineError error;
  const auto engine = Engine::open(options, error);
  if (!engine) {
    std::cerr << "deepinfer-bench-engine: error: " << error.what << " (" << error.where
              << "): " << error.mend << "\n";
    return static_cast<int>(error.fault);
  }

  nlohmann::ordered_json decode;
  nlohmann::ordered_json prefill;
  std::int64_t serial = 0;
  for (const int batch : parameters.batches) {
    std::vector<double> decode_rates;
    std::vector<double> prefill_rates;
    // The first run reads the weights and warms the caches; it is not counted.
    for (int repetition = -1; repetition < parameters.repetitions; ++repetition) {
      const auto rates = measure(*engine, parameters, batch, ++serial);
      if (!rates) return 1;
      if (repetition < 0) continue;
      decode_rates.push_back(rates->decode);
      prefill_rates.push_back(rates->prefill);
    }
    decode[std::to_string(batch)] = deepinfer::bench::summary_of(decode_rates);
    prefill[std::to_string(batch)] = deepinfer::bench::summary_of(prefill_rates);
  }

  const nlohmann::ordered_json report = {
      {"bench", "engine"},
      {"engine", "deepinfer"},
      {"commit", parameters.commit},
      {"machine", deepinfer::bench::this_machine()},
      {"model", engine->model().name},
      {"parameters",
       {{"threads", parameters.threads},
        {"prompt_length", parameters.prompt_length},
        {"new_tokens", parameters.new_tokens}}},
      {"decode_tokens_per_second", decode},
      {"prefill_tokens_per_second", prefill},
  };
  std::cout << report.dump() << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Parameters parameters;
    CLI::App app("Measures the embedded engine; prints one line of JSON.");
    app.add_option("model", parameters.model, "checkpoint folder")->required();
    app.add_option("--threads", parameters.threads, "worker threads, the caller's included")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--repetitions", parameters.repetitions, "counted runs of each batch")
        ->check(CLI::Range(5, 1000))
        ->capture_default_str();
    app.add_option("--prompt-length", parameters.prompt_length, "tokens")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--new-tokens", parameters.new_tokens, "tokens of each answer, at least 2")
        ->check(CLI::Range(2, 1 << 20))
        ->capture_default_str();
    app.add_option("--batch", parameters.batches, "requests at once; may be given several times")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    app.add_option("--commit", parameters.commit, "named in the report")->capture_default_str();
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& parse_error) {
      return app.exit(parse_error) == 0 ? 0 : 2;
    }
    return run(parameters);
  } catch (const std::exception& thrown) {
    std::cerr << "deepinfer-bench-engine: error: " << thrown.what() << "\n";
    return 1;
  }
}
