#include "client/cli/batch_summary.h"

#include <csignal>

#include <nlohmann/json.hpp>

#include "client/cli/messages.h"
#include "client/cli/response_parts.h"

namespace deepinfer::cli {

std::string summary_json(const BatchSummary& summary) {
  using nlohmann::ordered_json;
  const BatchCounts& counts = summary.counts;
  const bool is_complete = summary.outcome.end == BatchEnd::kComplete;
  const bool has_errors = counts.all_failed() > 0;
  const auto& paths = summary.paths;
  ordered_json object;
  object["state"] = is_complete ? "completed" : "interrupted";
  object["job"] = summary.job ? ordered_json(to_text(*summary.job)) : ordered_json(nullptr);
  object["request_counts"] = {{"total", counts.total},
                              {"completed", counts.done() - counts.all_failed()},
                              {"failed", counts.all_failed()},
                              {"resumed", counts.resumed}};
  object["usage"] = {{"prompt_tokens", counts.prompt_tokens},
                     {"completion_tokens", counts.completion_tokens}};
  object["seconds"] = std::chrono::duration<double>(summary.elapsed).count();
  object["prefill_tokens_per_second"] = prefill_rate(summary.engine);
  object["decode_tokens_per_second"] = decode_rate(summary.engine);
  object["model"] = summary.model.empty() ? ordered_json(nullptr) : ordered_json(summary.model);
  object["output"] = (is_complete ? paths.output : paths.partial_output()).string();
  object["errors"] =
      has_errors ? ordered_json((is_complete ? paths.errors : paths.partial_errors()).string())
                 : ordered_json(nullptr);
  return to_text(object);
}

namespace {

// What ended the run before its time, where that is seen, and how to go on.
config::Problem interruption(const BatchSummary& summary, const std::string& progress) {
  switch (summary.outcome.end) {
    case BatchEnd::kDraining:
      return {"draining: the daemon takes no more requests, with " + progress, summary.where,
              "run the same command with --resume after deepinfer undrain, or when it was started "
              "again"};
    case BatchEnd::kLost:
      return {summary.outcome.what + ", with " + progress, summary.where,
              "start it again, then run the same command with --resume to continue"};
    case BatchEnd::kSignal:
    case BatchEnd::kComplete:
      break;
  }
  const std::string name = summary.outcome.signal == SIGINT ? "SIGINT" : "SIGTERM";
  return {"interrupted by " + name + " with " + progress, summary.paths.partial_output().string(),
          "run the same command with --resume to continue"};
}

int exit_code_of(const BatchOutcome& outcome) {
  switch (outcome.end) {
    case BatchEnd::kDraining:
      return kExitRefused;
    case BatchEnd::kLost:
      return kExitNoDaemon;
    case BatchEnd::kSignal:
    case BatchEnd::kComplete:
      break;
  }
  return kExitSignal + outcome.signal;
}

}  // namespace

int report_end(const BatchSummary& summary, const CommandContext& context) {
  const BatchCounts& counts = summary.counts;
  if (summary.outcome.end != BatchEnd::kComplete) {
    const std::string progress =
        std::to_string(counts.done()) + " of " + std::to_string(counts.total) + " requests done";
    print_error(context.err, config::to_line(interruption(summary, progress)));
    return exit_code_of(summary.outcome);
  }
  if (counts.all_failed() == 0) return kExitDone;
  print_error(context.err, config::to_line({std::to_string(counts.all_failed()) + " of " +
                                                std::to_string(counts.total) + " requests failed",
                                            summary.paths.errors.string(),
                                            "read error.code and error.param of its records"}));
  return kExitSomeFailed;
}

}  // namespace deepinfer::cli
