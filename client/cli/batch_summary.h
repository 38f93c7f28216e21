// What is said of a batch at its end: a JSON object, messages, and the exit code.
//
// Threads:  pure functions but for the messages
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "client/cli/batch_output.h"
#include "client/cli/batch_run.h"
#include "client/cli/command_context.h"

namespace deepinfer::cli {

struct BatchSummary {
  BatchCounts counts;
  EngineStats engine;
  std::string model;  // empty when nothing was left to do
  std::string where;  // of the work, for messages
  std::optional<JobId> job;
  OutputPaths paths;
  std::chrono::nanoseconds elapsed{0};
  BatchOutcome outcome;
};

[[nodiscard]] std::string summary_json(const BatchSummary& summary);

// Says what a user must know, and returns the exit code.
[[nodiscard]] int report_end(const BatchSummary& summary, const CommandContext& context);

}  // namespace deepinfer::cli
