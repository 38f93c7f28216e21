// deepinfer generate: one prompt in, its text out.
//
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "client/cli/command_context.h"
#include "client/cli/place.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace deepinfer::cli {

struct GenerateArguments {
  std::optional<std::string> prompt;
  std::string prompt_file;
  std::vector<std::int64_t> prompt_ids;
  std::string messages_file;
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seq_seed;
  std::int64_t n = 1;
  std::optional<std::int64_t> logprobs;
  std::vector<std::string> stop;
  std::string regex;
  std::string json_schema_file;
  std::string ebnf_file;
  bool is_json = false;
  PlaceArguments place;
};

void add_generate(CLI::App& command, GenerateArguments& arguments);

// The request as a line of a batch file in its short form, so that both are checked alike.
// Errors: kInvalidArgument with a complete message.
[[nodiscard]] Result<nlohmann::json> line_of_arguments(const GenerateArguments& arguments);

// Returns the exit code; messages and results have gone to the context's streams.
[[nodiscard]] int run_generate(const GenerateArguments& arguments, const CommandContext& context);

}  // namespace deepinfer::cli
