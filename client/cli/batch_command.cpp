#include "client/cli/batch_command.h"

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/cli/batch_output.h"
#include "client/cli/batch_run.h"
#include "client/cli/batch_summary.h"
#include "client/cli/input_check.h"
#include "client/cli/json_text.h"
#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

// The arguments, once they are known to make sense.
struct BatchSettings {
  OutputPaths paths;
  CheckSettings check;
  Durability durability = Durability::kPower;
  Progress::Style style = Progress::Style::kPlain;
};

Progress::Style style_of(const std::string& word, const CommandContext& context) {
  if (word == "none") return Progress::Style::kNone;
  const bool is_bar = word == "auto" && context.err_is_terminal;
  return is_bar ? Progress::Style::kBar : Progress::Style::kPlain;
}

BatchSettings read_settings(const BatchArguments& arguments, const CommandContext& context,
                            std::vector<config::Problem>& problems) {
  BatchSettings settings;
  settings.paths.output = arguments.output;
  settings.paths.errors = arguments.errors.empty() ? default_errors_path(arguments.output)
                                                   : std::filesystem::path(arguments.errors);
  settings.check.path = arguments.input;
  settings.check.stop_signal = context.stop_signal;
  settings.check.defaults.priority = arguments.priority;
  settings.check.defaults.now = context.now();
  settings.durability = arguments.durability == "power" ? Durability::kPower : Durability::kProcess;
  settings.style = style_of(arguments.progress, context);
  if (const auto shard = parse_shard(arguments.shard)) {
    settings.check.shard = *shard;
  } else {
    problems.push_back({shard.error().message, "--shard", "give a part such as 1/4"});
  }
  if (arguments.deadline.empty()) return settings;
  if (const auto deadline = parse_deadline(arguments.deadline, settings.check.defaults.now)) {
    settings.check.defaults.deadline = *deadline;
  } else {
    problems.push_back({deadline.error().message, "--deadline", "give a time from now, or a date"});
  }
  return settings;
}

// The file's own name, in UTF-8 and no longer than the daemon takes.
std::string job_name_of(const std::filesystem::path& input) {
  constexpr std::size_t kLongest = 256;
  std::string name = valid_utf8(input.filename().string());
  if (name.size() <= kLongest) return name;
  std::size_t length = kLongest;
  const auto is_continuation = [&name](std::size_t at) {
    return (static_cast<unsigned char>(name[at]) & 0xC0U) == 0x80U;
  };
  while (is_continuation(length)) --length;
  name.resize(length);
  return name;
}

int report(const Error& error, const CommandContext& context) {
  if (error.code != ErrorCode::kCancelled) {
    print_error(context.err, error.message);
    return kExitUsage;
  }
  const int number = std::stoi(error.message);
  print_error(context.err,
              config::to_line({"interrupted before the first request", "signal " + error.message,
                               "run the same command again"}));
  return kExitSignal + number;
}

// One batch, from its file to its records.
class BatchCommand {
 public:
  BatchCommand(BatchSettings settings, Place place, const BatchArguments& arguments,
               const CommandContext& context)
      : settings_(std::move(settings)),
        place_(std::move(place)),
        arguments_(arguments),
        context_(context),
        start_(context.clock.now()) {}

  // The exit code, or an Error whose message is complete.
  Result<int> run() {
    DEEPINFER_TRY([[maybe_unused]] const Done named,
                  check_paths(settings_.paths, arguments_.input));
    if (!arguments_.is_resumed) {
      DEEPINFER_TRY([[maybe_unused]] const Done clear, check_nothing_there(settings_.paths));
    }
    auto input = InputFile::open(arguments_.input);
    if (!input) {
      return usage_error(input.error().message, arguments_.input,
                         "name a readable file of JSON lines");
    }
    DEEPINFER_TRY(const InputFacts facts, check_input(*input, settings_.check));
    const std::uint64_t fingerprint = input->fingerprint();
    if (is_finished()) return report_finished(*input);
    int exit_code = kExitUsage;
    auto runner = open_runner(place_, session(), context_, exit_code);
    if (!runner) return exit_code;
    const RunIdentity identity{input->size_bytes(), fingerprint, runner->facts().model,
                               to_text(settings_.check.shard)};
    DEEPINFER_TRY(BatchOutput output, arguments_.is_resumed
                                          ? BatchOutput::resume(settings_.paths, identity)
                                          : BatchOutput::begin(settings_.paths, identity));
    return run_requests(*input, facts, *runner, output);
  }

 private:
  // --resume of a run that was published.
  [[nodiscard]] bool is_finished() const {
    std::error_code ignored;
    return arguments_.is_resumed && std::filesystem::exists(settings_.paths.output, ignored) &&
           !std::filesystem::exists(settings_.paths.state(), ignored);
  }

  [[nodiscard]] DaemonSession session() const {
    DaemonSession session;
    session.client = "deepinfer batch";
    session.job = JobOptions{};
    session.job->name = job_name_of(arguments_.input);
    if (settings_.check.shard.count > 1) {
      session.job->metadata["shard"] = to_text(settings_.check.shard);
    }
    return session;
  }

  Result<int> report_finished(InputFile& input) {
    FinishedLines finished;
    DEEPINFER_TRY(const RecordsRead good, read_finished(settings_.paths.output, finished));
    DEEPINFER_TRY(const RecordsRead bad, read_finished(settings_.paths.errors, finished));
    DEEPINFER_TRY(const bool is_whole, is_complete(input, settings_.check, finished));
    if (!is_whole) {
      return usage_error("the file is not the output of this input", settings_.paths.output,
                         "choose another output");
    }
    BatchSummary summary;
    summary.counts.total = good.count + bad.count;
    summary.counts.resumed = summary.counts.total;
    summary.counts.resumed_failed = bad.count;
    return conclude(std::move(summary));
  }

  Result<int> run_requests(InputFile& input, const InputFacts& facts, Runner& runner,
                           BatchOutput& output) {
    DEEPINFER_TRY([[maybe_unused]] const Done back, input.rewind());
    RequestReader reader(input, settings_.check.shard, settings_.check.defaults);
    Progress progress(context_.err, context_.clock, settings_.style);
    if (const auto job = runner.facts().job) {
      progress.say(to_text(*job) + ": " + std::to_string(facts.requests) + " requests of " +
                   arguments_.input + " for the daemon at " + runner.facts().where);
    }
    BatchRun batch({reader, runner, output, progress, context_.clock, context_.calendar,
                    context_.stop_signal, context_.pause},
                   facts.requests, settings_.durability);
    BatchSummary summary;
    DEEPINFER_TRY(summary.outcome, batch.run());
    summary.counts = batch.counts();
    // A daemon is asked for them only where they are shown.
    if (arguments_.is_json) summary.engine = runner.stats();
    summary.model = runner.facts().model;
    summary.where = runner.facts().where;
    summary.job = runner.facts().job;
    if (summary.outcome.end == BatchEnd::kComplete) {
      DEEPINFER_TRY([[maybe_unused]] const Done published, output.publish());
    } else {
      DEEPINFER_TRY([[maybe_unused]] const Done synced, output.sync());
    }
    return conclude(std::move(summary));
  }

  int conclude(BatchSummary summary) {
    summary.paths = settings_.paths;
    summary.elapsed = context_.clock.now() - start_;
    if (arguments_.is_json) context_.out << summary_json(summary) << '\n' << std::flush;
    return report_end(summary, context_);
  }

  BatchSettings settings_;
  Place place_;
  const BatchArguments& arguments_;
  const CommandContext& context_;
  Clock::TimePoint start_;
};

}  // namespace

void add_batch(CLI::App& command, BatchArguments& arguments) {
  command.add_option("INPUT", arguments.input, "File of requests, one JSON object a line")
      ->required();
  command.add_option("-o,--output", arguments.output, "File for the records")->required();
  command.add_option("--errors", arguments.errors,
                     "File for failed requests [OUTPUT with .errors.jsonl]");
  command.add_flag("--resume", arguments.is_resumed, "Continue what an interrupted run left");
  command.add_option("--priority", arguments.priority, "Lower first [0]");
  command.add_option("--deadline", arguments.deadline,
                     "A time from now (90min) or an RFC 3339 one");
  command.add_option("--shard", arguments.shard, "I/N: every N-th request, from the I-th on [1/1]");
  command.add_option("--durability", arguments.durability, "power, process or none [power]")
      ->check(CLI::IsMember({"power", "process", "none"}));
  command.add_option("--progress", arguments.progress, "auto, plain or none [auto]")
      ->check(CLI::IsMember({"auto", "plain", "none"}));
  command.add_flag("--json", arguments.is_json, "Print a summary as JSON");
  add_place(command, arguments.place);
}

int run_batch(const BatchArguments& arguments, const CommandContext& context) {
  std::vector<config::Problem> problems;
  BatchSettings settings = read_settings(arguments, context, problems);
  auto place = place_of(arguments.place, std::move(problems), context);
  if (!place) return kExitUsage;
  BatchCommand command(std::move(settings), *std::move(place), arguments, context);
  const auto outcome = command.run();
  return outcome ? *outcome : report(outcome.error(), context);
}

}  // namespace deepinfer::cli
