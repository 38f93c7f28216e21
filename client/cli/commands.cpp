#include "client/cli/commands.h"

#include <array>

#include <CLI/CLI.hpp>

#include "client/cli/bench_command.h"
#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

// The words after NAME are the other program's, --help included.
void declare_bench(CLI::App& command) {
  command.footer(
      "deepinfer bench NAME [ARGUMENT]... runs deepinfer-bench-NAME, which is beside deepinfer or "
      "in PATH.");
  command.prefix_command();
}

int run_bench_words(const CLI::App& command, const CommandContext& context) {
  const std::vector<std::string> words = command.remaining();
  if (!words.empty()) return run_bench(words, context);
  print_error(context.err, config::to_line({"no benchmark is named", "command line",
                                            "see deepinfer bench --help"}));
  return kExitUsage;
}

// A command whose functions take a struct of arguments.
template <typename Arguments>
Command command(const char* name, const char* about, Arguments& arguments,
                void (*declare)(CLI::App&, Arguments&),
                int (*run)(const Arguments&, const CommandContext&)) {
  return {name, about, [&arguments, declare](CLI::App& app) { declare(app, arguments); },
          [&arguments, run](const CLI::App&, const CommandContext& context) {
            return run(arguments, context);
          }};
}

}  // namespace

std::vector<Command> all_commands(CommandArguments& arguments) {
  CommandArguments& all = arguments;
  return {
      command("batch", "Run a file of requests", all.batch, add_batch, run_batch),
      command("merge", "Join the outputs of shards", all.merge, add_merge, run_merge),
      command("generate", "Answer one prompt", all.generate, add_generate, run_generate),
      command("status", "Show what the daemon does", all.operation, add_operator, run_status),
      command("jobs", "List the daemon's jobs", all.operation, add_operator, run_jobs),
      command("job", "Show one job", all.operation, add_job_operator, run_job),
      command("cancel", "End a job", all.operation, add_job_operator, run_cancel),
      command("drain", "Let the daemon finish what it has, and take no more", all.drain, add_drain,
              run_drain),
      command("undrain", "Let the daemon take requests again", all.drain, add_undrain, run_undrain),
      {"bench", "Run a benchmark", declare_bench, run_bench_words},
  };
}

std::span<const std::string_view> later_commands() {
  static constexpr std::array<std::string_view, 6> kLater{"reload", "top",  "results",
                                                          "doctor", "init", "grammar"};
  return kLater;
}

}  // namespace deepinfer::cli
