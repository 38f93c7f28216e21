#include "client/cli/batch_summary.h"

#include <csignal>

#include <nlohmann/json.hpp>

#include "client/cli/messages.h"
#include "client/cli/response_parts.h"

namespace deepinfer::cli {

std::string summary_json(const BatchSummary& summary) {
  using nlohmann::ordered_json;
  const BatchCounts& counts = summary.counts;
  const bool is_complete = summary.signal == 0;
  const bool has_errors = counts.all_failed() > 0;
  const auto& paths = summary.paths;
  ordered_json object;
  object["state"] = is_complete ? "completed" : "interrupted";
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

int report_end(const BatchSummary& summary, const CommandContext& context) {
  const BatchCounts& counts = summary.counts;
  if (summary.signal != 0) {
    const std::string name = summary.signal == SIGINT ? "SIGINT" : "SIGTERM";
    print_error(context.err, config::to_line({"interrupted by " + name + " with " +
                                                  std::to_string(counts.done()) + " of " +
                                                  std::to_string(counts.total) + " requests done",
                                              summary.paths.partial_output().string(),
                                              "run the same command with --resume to continue"}));
    return kExitSignal + summary.signal;
  }
  if (counts.all_failed() == 0) return kExitDone;
  print_error(context.err, config::to_line({std::to_string(counts.all_failed()) + " of " +
                                                std::to_string(counts.total) + " requests failed",
                                            summary.paths.errors.string(),
                                            "read error.code and error.param of its records"}));
  return kExitSomeFailed;
}

}  // namespace deepinfer::cli
