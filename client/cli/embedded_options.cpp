#include "client/cli/embedded_options.h"

#include <utility>

#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

constexpr const char* kDefaultSocket = "/run/deepinfer/deepinferd.sock";

EngineOptions engine_options(const config::Options& options) {
  EngineOptions engine;
  engine.model = options.model.path;
  engine.max_context = options.model.max_context;
  engine.threads = static_cast<int>(options.engine.threads);
  engine.max_sequences = options.engine.max_sequences;
  engine.max_batch_tokens = config::max_batch_tokens(options.engine);
  engine.prefill_chunk = options.engine.prefill_chunk;
  engine.logprobs_mode = options.sampling.logprobs_mode == config::LogprobsMode::kRaw
                             ? LogprobsMode::kRaw
                             : LogprobsMode::kProcessed;
  return engine;
}

}  // namespace

std::optional<EngineOptions> embedded_options(const PlaceArguments& place,
                                              std::vector<config::Problem> problems,
                                              const CommandContext& context, int& exit_code) {
  config::EnvironmentReport report = config::read_environment(context.environment);
  for (const config::Problem& warning : report.warnings) print_warning(context.err, warning);
  problems.insert(problems.end(), report.problems.begin(), report.problems.end());
  if (!place.model.empty()) report.options.model.path = place.model;
  if (place.is_embedded && report.options.model.path.empty()) {
    problems.push_back({"no model is named", "--model",
                        "name a checkpoint folder, here or in DEEPINFER_MODEL__PATH"});
  }
  exit_code = kExitUsage;
  for (const config::Problem& problem : problems) {
    print_error(context.err, config::to_line(problem));
  }
  if (!problems.empty()) return std::nullopt;
  if (!place.is_embedded) {
    exit_code = kExitNoDaemon;
    print_error(context.err,
                config::to_line({"no daemon can be reached",
                                 place.socket.empty() ? kDefaultSocket : place.socket,
                                 "add --embedded --model DIR, which runs without one"}));
    return std::nullopt;
  }
  exit_code = kExitDone;
  return engine_options(report.options);
}

std::unique_ptr<Runner> open_runner(const EngineOptions& options, const CommandContext& context,
                                    int& exit_code) {
  EngineError error;
  auto runner = context.open_runner(options, error);
  if (runner) return runner;
  exit_code = static_cast<int>(error.fault);
  if (error.all.empty()) {
    error.all.push_back(config::to_line({error.what, error.where, error.mend}));
  }
  for (const std::string& line : error.all) print_error(context.err, line);
  return nullptr;
}

}  // namespace deepinfer::cli
