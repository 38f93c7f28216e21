#include "client/cli/bench_command.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "client/cli/messages.h"
#include "client/cli/operator_text.h"

namespace deepinfer::cli {
namespace {

constexpr std::string_view kPrefix = "deepinfer-bench-";

bool can_run(const std::filesystem::path& program) {
  std::error_code ignored;  // what cannot be looked at cannot be run
  return std::filesystem::is_regular_file(program, ignored) && ::access(program.c_str(), X_OK) == 0;
}

// A name, not a path.
bool is_name(const std::string& word) {
  const auto is_part = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-' ||
           letter == '_';
  };
  return !word.empty() && word.front() != '-' && std::all_of(word.begin(), word.end(), is_part);
}

std::string variable(const config::Variables& variables, std::string_view name) {
  for (const auto& entry : variables) {
    if (entry.first == name) return entry.second;
  }
  return {};
}

int refuse(const config::Problem& problem, const CommandContext& context) {
  print_error(context.err, config::to_line(problem));
  return kExitUsage;
}

}  // namespace

std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  const std::filesystem::path& beside,
                                                  std::string_view search_path) {
  if (!beside.empty() && can_run(beside / name)) return beside / name;
  while (!search_path.empty()) {
    const std::string_view folder = search_path.substr(0, search_path.find(':'));
    search_path.remove_prefix(std::min(folder.size() + 1, search_path.size()));
    const std::filesystem::path program = std::filesystem::path(folder) / name;
    if (!folder.empty() && can_run(program)) return program;
  }
  return std::nullopt;
}

int run_bench(std::span<const std::string> arguments, const CommandContext& context) {
  const std::string& name = arguments.front();
  if (!is_name(name)) {
    return refuse({"not the name of a benchmark: " + printable(name), "command line",
                   "see deepinfer bench --help"},
                  context);
  }
  const std::string program = std::string(kPrefix) + name;
  const auto path =
      find_program(program, context.program_folder, variable(context.environment, "PATH"));
  if (!path) {
    return refuse({"no program " + program, "beside deepinfer, PATH",
                   "build it with cmake --build --preset release --target " + program},
                  context);
  }
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  const int failed = context.become(*path, words);
  return refuse({"cannot be run: " + std::generic_category().message(failed), path->string(),
                 "build it again"},
                context);
}

}  // namespace deepinfer::cli
