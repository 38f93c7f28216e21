// deepinfer merge: the outputs of several shards -> one output.
//
// Threads:  confined to one thread
#pragma once

#include <string>
#include <vector>

#include "client/cli/command_context.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace deepinfer::cli {

struct MergeArguments {
  std::vector<std::string> shards;
  std::string output;
};

void add_merge(CLI::App& command, MergeArguments& arguments);

// Refuses files that hold anything but records, and a request or custom_id that occurs twice.
[[nodiscard]] int run_merge(const MergeArguments& arguments, const CommandContext& context);

}  // namespace deepinfer::cli
