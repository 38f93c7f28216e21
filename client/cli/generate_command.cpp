#include "client/cli/generate_command.h"

#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include "client/cli/generation.h"
#include "client/cli/json_text.h"
#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

using nlohmann::json;

// "-" is standard input.
Result<std::string> read_file(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at cannot be opened, which is reported
  if (std::filesystem::is_directory(path, ignored)) {
    return usage_error("is a directory", path, "name a readable file");
  }
  std::ifstream file(path == "-" ? "/dev/stdin" : path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (file.is_open() && !file.bad()) return std::move(text).str();
  return usage_error("cannot be read", path, "name a readable file");
}

// A file of messages: an array of them, or an object with what goes with them.
Status add_messages(const std::string& path, json& line) {
  DEEPINFER_TRY(const std::string text, read_file(path));
  auto document = parse_json(text);
  if (!document) {
    return usage_error(document.error().message, path, "give a JSON array of messages");
  }
  if (!document->is_object()) {
    line["messages"] = *std::move(document);
    return Done{};
  }
  for (const auto& [name, value] : document->items()) {
    const bool is_param =
        name == "thinking" || name == "enable_thinking" || name == "reasoning_effort";
    const bool is_chat =
        name == "messages" || name == "tools" || name == "tool_choice" || name == "response_format";
    if (!is_param && !is_chat) {
      return usage_error("unknown field " + json(name).dump(), path,
                         "keep messages, tools, tool_choice, thinking and reasoning_effort");
    }
    (is_param ? line["sampling_params"] : line)[name] = value;
  }
  return Done{};
}

Status add_prompt(const GenerateArguments& arguments, json& line) {
  if (!arguments.messages_file.empty()) return add_messages(arguments.messages_file, line);
  if (!arguments.prompt_ids.empty()) line["prompt_token_ids"] = arguments.prompt_ids;
  if (arguments.prompt) line["prompt"] = *arguments.prompt;
  if (arguments.prompt_file.empty()) return Done{};
  DEEPINFER_TRY(line["prompt"], read_file(arguments.prompt_file));
  return Done{};
}

template <typename Value>
void set(json& params, const char* name, const std::optional<Value>& value) {
  if (value) params[name] = *value;
}

}  // namespace

Result<json> line_of_arguments(const GenerateArguments& arguments) {
  json line = json::object();
  json& params = line["sampling_params"] = json::object();
  set(params, "max_tokens", arguments.max_tokens);
  set(params, "temperature", arguments.temperature);
  set(params, "top_p", arguments.top_p);
  set(params, "top_k", arguments.top_k);
  set(params, "seq_seed", arguments.seq_seed);
  set(params, "logprobs", arguments.logprobs);
  params["n"] = arguments.n;
  if (!arguments.stop.empty()) params["stop"] = arguments.stop;
  DEEPINFER_TRY([[maybe_unused]] const Done prompted, add_prompt(arguments, line));
  return line;
}

void add_generate(CLI::App& command, GenerateArguments& arguments) {
  auto* prompts = command.add_option_group("prompt", "Exactly one of");
  prompts->add_option("--prompt", arguments.prompt, "Raw text; control tokens are recognised");
  prompts->add_option("--prompt-file", arguments.prompt_file, "The same from a file; - is stdin");
  prompts->add_option("--prompt-ids", arguments.prompt_ids, "Token ids, with commas")
      ->delimiter(',');
  prompts->add_option("--messages", arguments.messages_file,
                      "JSON file: an array of messages, or an object with messages and tools");
  prompts->require_option(1);
  command.add_option("--max-tokens", arguments.max_tokens, "Most tokens of the answer");
  command.add_option("--temperature", arguments.temperature, "0 is greedy [1]");
  command.add_option("--top-p", arguments.top_p, "Mass of the most likely tokens kept [1]");
  command.add_option("--top-k", arguments.top_k, "Number of most likely tokens kept [0: all]");
  command.add_option("--seq-seed", arguments.seq_seed, "Seed of the draws");
  command.add_option("--n", arguments.n, "Number of answers [1]");
  command.add_option("--logprobs", arguments.logprobs,
                     "Most likely tokens listed with each; needs --json");
  command.add_option("--stop", arguments.stop, "Text that ends the answer; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--regex", arguments.regex, "Pattern that the answer matches");
  command.add_option("--json-schema", arguments.json_schema_file, "Schema that the answer meets");
  command.add_option("--ebnf", arguments.ebnf_file, "Grammar that the answer follows");
  command.add_flag("--json", arguments.is_json, "Print the response as JSON");
  add_place(command, arguments.place);
}

int run_generate(const GenerateArguments& arguments, const CommandContext& context) {
  std::vector<config::Problem> problems;
  const std::array<std::pair<const char*, bool>, 3> grammars{
      {{"--regex", !arguments.regex.empty()},
       {"--json-schema", !arguments.json_schema_file.empty()},
       {"--ebnf", !arguments.ebnf_file.empty()}}};
  for (const auto& [flag, is_set] : grammars) {
    if (!is_set) continue;
    problems.push_back({"structured output is not built into this version", flag, "leave it out"});
  }
  if (arguments.logprobs && !arguments.is_json) {
    problems.push_back({"logprobs are shown in JSON only", "--logprobs", "add --json"});
  }
  const auto place = place_of(arguments.place, std::move(problems), context);
  if (!place) return kExitUsage;
  const auto document = line_of_arguments(arguments);
  if (!document) {
    print_error(context.err, document.error().message);
    return kExitUsage;
  }
  return generate(read_batch_line(*document, 1, {}), *place, arguments.is_json, context);
}

}  // namespace deepinfer::cli
