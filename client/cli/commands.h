// The commands of deepinfer, as a table: what each is called, which flags it has, and what it does.
//
// Lifetime: the table refers to the arguments, which the parser fills
// Threads:  confined to one thread
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/batch_command.h"
#include "client/cli/command_context.h"
#include "client/cli/drain_command.h"
#include "client/cli/generate_command.h"
#include "client/cli/merge_command.h"
#include "client/cli/operator_commands.h"

namespace deepinfer::cli {

struct CommandArguments {
  BatchArguments batch;
  MergeArguments merge;
  GenerateArguments generate;
  OperatorArguments operation;  // of status, jobs, job and cancel
  DrainArguments drain;         // and of undrain
};

struct Command {
  std::string name;
  std::string about;
  std::function<void(CLI::App&)> declare;
  // Gives the exit code.
  std::function<int(const CLI::App&, const CommandContext&)> run;
};

[[nodiscard]] std::vector<Command> all_commands(CommandArguments& arguments);

// Commands of later versions: known names, without flags yet.
[[nodiscard]] std::span<const std::string_view> later_commands();

}  // namespace deepinfer::cli
