#include "client/cli/place.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

#include "client/cli/daemon_error.h"
#include "client/cli/messages.h"
#include "config/settings.h"

namespace deepinfer::cli {
namespace {

constexpr std::string_view kSocketKey = "ipc.socket";

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

bool names(const config::Setting& setting, std::string_view variable) {
  constexpr std::string_view kPrefix = "DEEPINFER_";
  const bool is_own = !setting.variable.empty() && variable.starts_with(kPrefix) &&
                      variable.substr(kPrefix.size()) == setting.variable;
  return is_own || variable == config::variable_of_key(setting.key);
}

// Without the settings of the engine and the daemon: they are not this command's business.
config::Variables without_settings(const config::Variables& variables) {
  config::Variables kept;
  for (const auto& variable : variables) {
    const auto settings = config::known_settings();
    const bool is_of_others =
        std::any_of(settings.begin(), settings.end(), [&variable](const config::Setting& setting) {
          return setting.key != kSocketKey && names(setting, variable.first);
        });
    if (!is_of_others) kept.push_back(variable);
  }
  return kept;
}

// Nothing when there was any problem; all have been printed.
std::optional<config::Options> read_options(const config::Variables& variables,
                                            std::vector<config::Problem> problems,
                                            const CommandContext& context) {
  config::EnvironmentReport report = config::read_environment(variables);
  for (const config::Problem& warning : report.warnings) print_warning(context.err, warning);
  problems.insert(problems.end(), report.problems.begin(), report.problems.end());
  for (const config::Problem& problem : problems) {
    print_error(context.err, config::to_line(problem));
  }
  if (!problems.empty()) return std::nullopt;
  return std::move(report.options);
}

bool names_model(const CommandContext& context) {
  const std::string name = config::variable_of_key("model.path");
  return std::any_of(
      context.environment.begin(), context.environment.end(),
      [&name](const auto& variable) { return variable.first == name && !variable.second.empty(); });
}

std::unique_ptr<Runner> open_engine(const EngineOptions& options, const CommandContext& context,
                                    int& exit_code) {
  EngineError error;
  auto runner = context.open_embedded(options, error);
  if (runner) return runner;
  exit_code = static_cast<int>(error.fault);
  if (error.all.empty()) {
    error.all.push_back(config::to_line({error.what, error.where, error.mend}));
  }
  for (const std::string& line : error.all) print_error(context.err, line);
  return nullptr;
}

}  // namespace

void add_place(CLI::App& command, PlaceArguments& arguments) {
  auto* embedded =
      command.add_flag("--embedded", arguments.is_embedded, "Run the engine inside this command");
  command.add_option("--model", arguments.model, "Checkpoint folder, with --embedded")
      ->needs(embedded);
  command.add_option("--socket", arguments.socket, "The daemon's socket")->excludes(embedded);
}

void add_socket(CLI::App& command, std::string& socket) {
  command.add_option("--socket", socket, "The daemon's socket");
}

std::optional<Place> place_of(const PlaceArguments& arguments,
                              std::vector<config::Problem> problems,
                              const CommandContext& context) {
  if (!arguments.is_embedded) return daemon_place(arguments.socket, std::move(problems), context);
  if (arguments.model.empty() && !names_model(context)) {
    problems.push_back({"no model is named", "--model",
                        "name a checkpoint folder, here or in DEEPINFER_MODEL__PATH"});
  }
  auto options = read_options(context.environment, std::move(problems), context);
  if (!options) return std::nullopt;
  if (!arguments.model.empty()) options->model.path = arguments.model;
  return engine_options(*options);
}

std::optional<DaemonPlace> daemon_place(const std::string& socket,
                                        std::vector<config::Problem> problems,
                                        const CommandContext& context) {
  const auto options =
      read_options(without_settings(context.environment), std::move(problems), context);
  if (!options) return std::nullopt;
  return DaemonPlace{socket.empty() ? options->ipc.socket : socket};
}

std::unique_ptr<Runner> open_runner(const Place& place, DaemonSession session,
                                    const CommandContext& context, int& exit_code) {
  if (const auto* options = std::get_if<EngineOptions>(&place)) {
    return open_engine(*options, context, exit_code);
  }
  session.socket = std::get<DaemonPlace>(place).socket;
  ClientError error;
  auto runner = context.open_daemon(session, error);
  if (!runner) exit_code = report(error, Alternative::kEmbedded, context.err);
  return runner;
}

std::unique_ptr<Control> open_control(const DaemonPlace& place, const CommandContext& context,
                                      int& exit_code) {
  ClientError error;
  auto control = context.open_control(place.socket, error);
  if (!control) exit_code = report(error, Alternative::kNone, context.err);
  return control;
}

}  // namespace deepinfer::cli
