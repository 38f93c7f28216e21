// deepinfer batch: a file of requests in, a file of records out.
//
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <string>

#include "client/cli/command_context.h"
#include "client/cli/place.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace deepinfer::cli {

struct BatchArguments {
  std::string input;
  std::string output;
  std::string errors;    // empty: beside the output
  std::string deadline;  // empty: none
  std::string shard = "1/1";
  std::string durability = "power";
  std::string progress = "auto";
  std::int64_t priority = 0;
  bool is_resumed = false;
  bool is_json = false;
  PlaceArguments place;
};

void add_batch(CLI::App& command, BatchArguments& arguments);

// Returns the exit code; messages and results have gone to the context's streams.
[[nodiscard]] int run_batch(const BatchArguments& arguments, const CommandContext& context);

}  // namespace deepinfer::cli
