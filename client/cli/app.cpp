#include "client/cli/app.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/cli/commands.h"
#include "client/cli/messages.h"
#include "config/nearest.h"

namespace deepinfer::cli {
namespace {

constexpr const char* kVersion = "deepinfer " DEEPINFER_VERSION;

// What the parser fills, and the commands it may choose.
struct CommandLine {
  CLI::App app{"Runs DeepSeek-V4.1-Flash on files of requests and on single prompts.", "deepinfer"};
  CommandArguments arguments;
  std::vector<Command> commands = all_commands(arguments);
};

void declare(CommandLine& line) {
  line.app.set_version_flag("--version", kVersion);
  line.app.require_subcommand(1);
  for (const Command& command : line.commands) {
    CLI::App* app = line.app.add_subcommand(command.name, command.about);
    command.declare(*app);
    app->set_version_flag("--version", kVersion);
  }
}

// A first word that is no command has a better message than the parser's.
int report_unknown_command(std::string_view name, const CommandLine& line,
                           const CommandContext& context) {
  const auto later = later_commands();
  config::Problem problem{"unknown command " + std::string(name), "command line",
                          "see deepinfer --help"};
  if (std::find(later.begin(), later.end(), name) != later.end()) {
    problem.what = std::string(name) + " is not built into this version";
  } else {
    std::vector<std::string_view> names;
    for (const Command& command : line.commands) names.emplace_back(command.name);
    const std::string_view near = config::nearest(name, names);
    if (!near.empty()) problem.mend = "did you mean " + std::string(near) + "?";
  }
  print_error(context.err, config::to_line(problem));
  return kExitUsage;
}

bool is_unknown_command(std::span<const char* const> arguments, const CommandLine& line) {
  if (arguments.empty()) return false;
  const std::string_view first = arguments.front();
  if (first.starts_with('-')) return false;
  return std::none_of(line.commands.begin(), line.commands.end(),
                      [first](const Command& command) { return command.name == first; });
}

// "did you mean --top-k?" for an option that is nearly one of the command's.
std::string mend_of(const CLI::ParseError& error, const CommandLine& line) {
  const auto chosen = line.app.get_subcommands();
  if (chosen.empty()) return "see deepinfer --help";
  std::string help = "see deepinfer " + chosen.front()->get_name() + " --help";
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return help;
  const std::string_view what = error.what();
  const std::size_t dashes = what.find("--");
  if (dashes == std::string_view::npos) return help;
  const std::string_view word = what.substr(dashes, what.find_first_of(" =", dashes) - dashes);
  std::vector<std::string> names;
  for (const CLI::Option* option : chosen.front()->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = config::nearest(word, candidates);
  return near.empty() ? help : "did you mean " + std::string(near) + "?";
}

int report_parse_error(const CLI::ParseError& error, const CommandLine& line,
                       const CommandContext& context) {
  // Help and version are "errors" of the parser that succeed.
  if (error.get_exit_code() == 0) return line.app.exit(error, context.out, context.err);
  std::string what = error.what();
  if (!what.empty() && what[0] >= 'A' && what[0] <= 'Z') {
    what[0] = static_cast<char>(what[0] - 'A' + 'a');
  }
  print_error(context.err, config::to_line({what, "command line", mend_of(error, line)}));
  return kExitUsage;
}

}  // namespace

int run_app(std::span<const char* const> arguments, const CommandContext& context) {
  CommandLine line;
  if (is_unknown_command(arguments, line)) {
    return report_unknown_command(arguments.front(), line, context);
  }
  try {
    declare(line);
    // The parser takes the words from the back.
    std::vector<std::string> words(arguments.rbegin(), arguments.rend());
    line.app.parse(words);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(error, line, context);
  }
  const CLI::App& chosen = *line.app.get_subcommands().front();
  const auto command = std::find_if(
      line.commands.begin(), line.commands.end(),
      [&chosen](const Command& candidate) { return candidate.name == chosen.get_name(); });
  return command->run(chosen, context);
}

}  // namespace deepinfer::cli
