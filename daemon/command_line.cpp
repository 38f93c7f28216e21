#include "daemon/command_line.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "config/nearest.h"
#include "config/print.h"
#include "daemon/config_report.h"

namespace deepinfer::daemon {
namespace {

using config::Problem;

// What the parser fills.
struct Flags {
  std::string file;
  std::string model;
  std::string socket;
  std::string backend;
  bool check_config = false;
  bool foreground = false;
  bool json = false;
};

// A flag that is another way to write a key of the configuration.
struct KeyFlag {
  const char* name;
  const char* key;
  const char* value_name;
  const char* about;
  std::string Flags::*value;
};
constexpr std::array kKeyFlags{
    KeyFlag{"--model", "model.path", "DIR", "Checkpoint folder", &Flags::model},
    KeyFlag{"--socket", "ipc.socket", "PATH", "Where clients connect", &Flags::socket},
    KeyFlag{"--backend", "engine.backend", "auto|cpu|cuda", "What computes", &Flags::backend},
};

void declare(CLI::App& app, Flags& flags) {
  app.set_version_flag("--version", "deepinferd " DEEPINFER_VERSION);
  app.add_option("--config", flags.file,
                 "Configuration file (default " + config::default_file().string() + ")")
      ->type_name("FILE");
  for (const KeyFlag& flag : kKeyFlags) {
    app.add_option(flag.name, flags.*flag.value, std::string(flag.about) + " (" + flag.key + ")")
        ->type_name(flag.value_name);
  }
  auto* check = app.add_flag("--check-config", flags.check_config,
                             "Print the resolved configuration, or every error, and end");
  app.add_flag("--foreground", flags.foreground, "Log to the terminal too, beside log.file");
  app.add_flag("--json", flags.json, "With --check-config: as JSON")->needs(check);
  app.footer(
      "SIGTERM and SIGINT finish what was accepted, then stop; a second one stops at once.\n"
      "SIGUSR1 logs the daemon's state. See docs/operations.md.");
  // Unknown words are reported all at once, and with what was probably meant.
  app.allow_extras();
}

// "did you mean --model?" for a flag that is nearly one of ours.
std::string mend_of(std::string_view word, const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = config::nearest(word.substr(0, word.find('=')), candidates);
  return near.empty() ? "see deepinferd --help" : "did you mean " + std::string(near) + "?";
}

std::vector<Problem> problems_of_extras(const CLI::App& app) {
  std::vector<Problem> problems;
  bool may_be_value = false;  // of the unknown flag before it
  for (const std::string& word : app.remaining()) {
    const bool is_flag = word.starts_with('-');
    if (is_flag) {
      problems.push_back({"unknown flag " + word, "command line", mend_of(word, app)});
    } else if (!may_be_value) {
      problems.push_back({"unexpected argument " + word, "command line", "see deepinferd --help"});
    }
    may_be_value = is_flag && word.find('=') == std::string::npos;
  }
  return problems;
}

// The parser's own message in our form: it begins with a capital letter.
Problem problem_of(const CLI::ParseError& error) {
  std::string what = error.what();
  if (!what.empty() && what[0] >= 'A' && what[0] <= 'Z') {
    what[0] = static_cast<char>(what[0] - 'A' + 'a');
  }
  return {what, "command line", "see deepinferd --help"};
}

config::LoadSources sources_of(const CLI::App& app, const Flags& flags,
                               const config::Variables& environment) {
  const bool is_named = app.count("--config") > 0;
  config::LoadSources sources;
  sources.file = is_named ? std::filesystem::path(flags.file) : config::default_file();
  sources.is_file_required = is_named;
  sources.environment = environment;
  for (const KeyFlag& flag : kKeyFlags) {
    if (app.count(flag.name) > 0) {
      sources.flags.push_back({flag.key, flags.*flag.value, flag.name});
    }
  }
  return sources;
}

// What the daemon needs beyond a configuration that is sound in itself.
std::vector<Problem> problems_of_model(const config::Loaded& loaded) {
  const std::string& model = loaded.options.model.path;
  if (model.empty()) {
    return {{"no model is named", "model.path",
             "name a checkpoint folder with --model, in the configuration file or in "
             "DEEPINFER_MODEL__PATH"}};
  }
  if (!model.starts_with("synth:")) return {};
  const auto origin = loaded.origins.find("model.path");
  return {{model + ": generated weights are not built into this version",
           origin == loaded.origins.end() ? "model.path" : origin->second,
           "name a folder; deepinfer-model synth writes one with such weights"}};
}

int report_config(const config::Loaded& loaded, const Flags& flags, std::ostream& out) {
  if (flags.json) {
    out << config_report(loaded) << '\n';
  } else if (loaded.problems.empty()) {
    out << config::to_toml(loaded);
  }
  out.flush();
  return loaded.problems.empty() && out.good() ? kExitDone : kExitUsage;
}

}  // namespace

void print_problem(std::ostream& err, const Problem& problem) {
  err << "deepinferd: error: " << config::to_line(problem) << '\n' << std::flush;
}

std::variant<ServeOrder, int> read_command_line(std::span<const char* const> arguments,
                                                const ProgramContext& context) {
  CLI::App app("Serves a model to the clients of this machine.", "deepinferd");
  Flags flags;
  try {
    declare(app, flags);
    // The parser takes the words from the back.
    std::vector<std::string> words(arguments.rbegin(), arguments.rend());
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of the parser that succeed.
    if (error.get_exit_code() == 0) return app.exit(error, context.out, context.err);
    print_problem(context.err, problem_of(error));
    return kExitUsage;
  }

  std::vector<Problem> problems = problems_of_extras(app);
  config::Loaded loaded = config::load(sources_of(app, flags, context.environment));
  // With unknown flags, or where the configuration has errors, the model may have been meant to be named.
  if (problems.empty() && loaded.problems.empty()) loaded.problems = problems_of_model(loaded);
  loaded.problems.insert(loaded.problems.begin(), problems.begin(), problems.end());

  for (const Problem& warning : loaded.warnings) {
    context.err << "deepinferd: warning: " << config::to_line(warning) << '\n';
  }
  for (const Problem& problem : loaded.problems) print_problem(context.err, problem);
  if (flags.check_config) return report_config(loaded, flags, context.out);
  if (!loaded.problems.empty()) return kExitUsage;
  return ServeOrder{std::move(loaded), flags.foreground ? Log::Terminal::kToo : Log::Terminal::kNo};
}

}  // namespace deepinfer::daemon
