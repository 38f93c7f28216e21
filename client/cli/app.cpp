#include "client/cli/app.h"

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/cli/batch_command.h"
#include "client/cli/generate_command.h"
#include "client/cli/merge_command.h"
#include "client/cli/messages.h"
#include "config/nearest.h"

namespace deepinfer::cli {
namespace {

constexpr const char* kVersion = "deepinfer " DEEPINFER_VERSION;

// What the parser fills, and the commands it may choose.
struct CommandLine {
  CLI::App app{"Runs DeepSeek-V4.1-Flash on files of requests and on single prompts.", "deepinfer"};
  BatchArguments batch;
  MergeArguments merge;
  GenerateArguments generate;
  CLI::App* batch_command = nullptr;
  CLI::App* merge_command = nullptr;
  CLI::App* generate_command = nullptr;
};

void declare(CommandLine& line) {
  line.app.set_version_flag("--version", kVersion);
  line.app.require_subcommand(1);
  line.batch_command = line.app.add_subcommand("batch", "Run a file of requests");
  line.merge_command = line.app.add_subcommand("merge", "Join the outputs of shards");
  line.generate_command = line.app.add_subcommand("generate", "Answer one prompt");
  add_batch(*line.batch_command, line.batch);
  add_merge(*line.merge_command, line.merge);
  add_generate(*line.generate_command, line.generate);
  for (CLI::App* command : {line.batch_command, line.merge_command, line.generate_command}) {
    command->set_version_flag("--version", kVersion);
  }
}

constexpr std::array<std::string_view, 3> kCommands{"batch", "generate", "merge"};

// A first word that is no command has a better message than the parser's.
bool is_unknown_command(std::span<const char* const> arguments) {
  if (arguments.empty()) return false;
  const std::string_view first = arguments.front();
  return !first.starts_with('-') &&
         std::find(kCommands.begin(), kCommands.end(), first) == kCommands.end();
}

int report_unknown_command(std::string_view name, const CommandContext& context) {
  const std::string_view near = config::nearest(name, kCommands);
  print_error(context.err,
              config::to_line({"unknown command " + std::string(name), "command line",
                               near.empty() ? "see deepinfer --help"
                                            : "did you mean " + std::string(near) + "?"}));
  return kExitUsage;
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
  if (is_unknown_command(arguments)) return report_unknown_command(arguments.front(), context);
  CommandLine line;
  try {
    declare(line);
    // The parser takes the words from the back.
    std::vector<std::string> words(arguments.rbegin(), arguments.rend());
    line.app.parse(words);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(error, line, context);
  }
  if (line.batch_command->parsed()) return run_batch(line.batch, context);
  if (line.merge_command->parsed()) return run_merge(line.merge, context);
  return run_generate(line.generate, context);
}

}  // namespace deepinfer::cli
