#include "client/cli/batch_line.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "client/cli/chat_fields.h"
#include "client/cli/json_text.h"
#include "client/cli/sampling_fields.h"

namespace deepinfer::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kChatUrl = "/v1/chat/completions";
constexpr std::string_view kCompletionUrl = "/v1/completions";

// The name of a line that has one; wrong types are noted.
std::optional<std::string> read_custom_id(FieldReader& line) { return line.text("custom_id"); }

void read_schedule(FieldReader& line, const LineDefaults& defaults, Request& request) {
  constexpr IntegerRange kPriorities{-1'000'000'000, 1'000'000'000};
  request.priority = line.integer("priority", kPriorities).value_or(defaults.priority);
  request.deadline = defaults.deadline;
  const auto deadline = line.text("deadline");
  if (!deadline) return;
  const auto moment = parse_deadline(*deadline, defaults.now);
  if (moment) {
    request.deadline = *moment;
  } else {
    line.note("invalid_value", "deadline", "deadline: " + moment.error().message);
  }
}

// Token ids; out of the range of any vocabulary has the engine's code.
TokenPrompt read_ids(FieldReader& fields, const json& ids, std::string_view name) {
  TokenPrompt prompt;
  if (ids.empty()) fields.note("invalid_value", name, std::string(name) + " is empty");
  prompt.ids.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string pointer = pointer_to(fields.pointer(name), std::to_string(i));
    const auto id = integer_of(ids[i], pointer, {}, fields.problems());
    if (!id) continue;
    if (*id < 0 || *id > std::numeric_limits<std::int32_t>::max()) {
      fields.problems().push_back({"token_out_of_range",
                                   "token " + std::to_string(*id) + " is not in any vocabulary",
                                   pointer});
      continue;
    }
    prompt.ids.push_back(static_cast<std::int32_t>(*id));
  }
  return prompt;
}

// A text, ids, or OpenAI's array of one of them.
void read_prompt(FieldReader& fields, Request& request) {
  const json* prompt = fields.value("prompt");
  if (prompt == nullptr) {
    fields.note("missing_field", "prompt", "prompt is missing");
    return;
  }
  const bool is_nested = prompt->is_array() && !prompt->empty() && !prompt->front().is_number();
  if (is_nested && prompt->size() > 1) {
    fields.note("invalid_value", "prompt",
                "prompt holds " + std::to_string(prompt->size()) + " prompts, a line has one");
    return;
  }
  if (is_nested) prompt = &prompt->front();
  if (prompt->is_string()) {
    request.prompt = TextPrompt{prompt->get<std::string>()};
  } else if (prompt->is_array()) {
    request.prompt = read_ids(fields, *prompt, "prompt");
  } else {
    fields.note("invalid_type", "prompt",
                "prompt must be a string or an array of token ids, is " + shown(*prompt));
  }
}

void read_prompt_ids(FieldReader& fields, Request& request) {
  const json* ids = fields.value("prompt_token_ids");
  if (ids != nullptr && ids->is_array()) {
    request.prompt = read_ids(fields, *ids, "prompt_token_ids");
  } else if (ids != nullptr) {
    fields.note("invalid_type", "prompt_token_ids",
                "prompt_token_ids must be an array, is " + shown(*ids));
  }
}

// Thinking means nothing where there is no chat.
void refuse_thinking(FieldReader& fields, const Thinking& thinking) {
  if (!thinking.is_set) return;
  for (const std::string_view name : {"thinking", "enable_thinking", "reasoning_effort"}) {
    if (!fields.has(name)) continue;
    fields.note("conflicting_fields", name, std::string(name) + " goes with messages only");
  }
}

// Fields of an OpenAI body that choose nothing here.
void read_openai_extras(FieldReader& body) {
  static_cast<void>(body.text("model"));
  static_cast<void>(body.text("user"));
  const json* metadata = body.value("metadata");
  if (metadata != nullptr && !metadata->is_object()) {
    body.note("invalid_type", "metadata", "metadata must be an object, is " + shown(*metadata));
  }
  if (body.boolean("stream").value_or(false)) {
    body.note("invalid_value", "stream", "a batch does not stream; leave stream out");
  }
}

void read_body(const json& document, BatchLine& line) {
  FieldReader body(document, "/body", line.problems);
  const bool is_chat = line.shape == RecordShape::kChat;
  line.request.sampling =
      read_sampling(body, is_chat ? LogprobsStyle::kFlag : LogprobsStyle::kCount);
  const Thinking thinking = read_thinking(body);
  if (is_chat) {
    line.request.prompt = read_chat(body, thinking);
  } else {
    read_prompt(body, line.request);
    refuse_thinking(body, thinking);
  }
  line.return_token_ids = body.boolean("return_token_ids").value_or(false);
  read_openai_extras(body);
  body.finish();
}

void read_target(FieldReader& fields, BatchLine& line) {
  const auto method = fields.text("method");
  if (!fields.has("method")) fields.note("missing_field", "method", "method is missing");
  if (method && *method != "POST") {
    fields.note("invalid_value", "method", "method must be POST, is " + shown(json(*method)));
  }
  const auto url = fields.text("url");
  if (!fields.has("url")) fields.note("missing_field", "url", "url is missing");
  if (!url) return;
  line.shape = *url == kCompletionUrl ? RecordShape::kCompletion : RecordShape::kChat;
  if (*url == kChatUrl || *url == kCompletionUrl) return;
  fields.note("invalid_value", "url",
              "url must be " + std::string(kChatUrl) + " or " + std::string(kCompletionUrl) +
                  ", is " + shown(json(*url)));
}

// Fields of the other form beside `body`.
void refuse_short_fields(FieldReader& fields) {
  for (const std::string_view name :
       {"prompt", "prompt_token_ids", "messages", "sampling_params"}) {
    fields.exclude("body", name);
    static_cast<void>(fields.value(name));
  }
}

void read_openai_form(FieldReader& fields, BatchLine& line) {
  line.form = LineForm::kOpenAi;
  read_target(fields, line);
  refuse_short_fields(fields);
  const json* body = fields.value("body");
  if (body == nullptr) {
    fields.note("missing_field", "body", "body is missing");
  } else if (!body->is_object()) {
    fields.note("invalid_type", "body", "body must be an object, is " + shown(*body));
  } else {
    read_body(*body, line);
  }
}

// Exactly one of the three ways to say the prompt.
void read_one_prompt(FieldReader& fields, const Thinking& thinking, BatchLine& line) {
  fields.exclude("prompt", "prompt_token_ids");
  fields.exclude("prompt", "messages");
  fields.exclude("prompt_token_ids", "messages");
  const bool has_ids = fields.has("prompt_token_ids");
  const bool has_text = fields.has("prompt");
  if (fields.has("messages")) {
    line.request.prompt = read_chat(fields, thinking);
  } else if (has_text) {
    read_prompt(fields, line.request);
  } else if (!has_ids) {
    line.problems.push_back(
        {"missing_field", "one of prompt, prompt_token_ids and messages is needed", ""});
  }
  // Asked for in any case, so that they count as known.
  read_prompt_ids(fields, line.request);
  for (const std::string_view name : {"prompt", "messages", "body", "url", "method"}) {
    static_cast<void>(fields.value(name));
  }
}

void refuse_chat_fields(FieldReader& fields) {
  for (const std::string_view name : {"tools", "tool_choice", "response_format"}) {
    if (fields.value(name) == nullptr) continue;
    fields.note("conflicting_fields", name, std::string(name) + " goes with messages only");
  }
}

void read_short_form(FieldReader& fields, BatchLine& line) {
  line.form = LineForm::kShort;
  const bool is_chat = fields.has("messages");
  line.shape = is_chat ? RecordShape::kChat : RecordShape::kCompletion;
  const json empty = json::object();
  const json* params = fields.value("sampling_params");
  if (params != nullptr && !params->is_object()) {
    fields.note("invalid_type", "sampling_params",
                "sampling_params must be an object, is " + shown(*params));
    params = nullptr;
  }
  FieldReader sampling(params == nullptr ? empty : *params, "/sampling_params", line.problems);
  line.request.sampling = read_sampling(sampling, LogprobsStyle::kEither);
  const Thinking thinking = read_thinking(sampling);
  line.return_token_ids = sampling.boolean("return_token_ids").value_or(false);
  sampling.finish();
  read_one_prompt(fields, thinking, line);
  if (is_chat) return;
  refuse_chat_fields(fields);
  refuse_thinking(sampling, thinking);
}

}  // namespace

BatchLine read_batch_line(const json& document, std::int64_t number, const LineDefaults& defaults) {
  BatchLine line;
  line.number = number;
  if (!document.is_object()) {
    line.problems.push_back(
        {"invalid_json_line", "a line must be a JSON object, is " + shown(document), ""});
    return line;
  }
  FieldReader fields(document, "", line.problems);
  line.custom_id = read_custom_id(fields);
  line.request.custom_id = line.custom_id.value_or("");
  read_schedule(fields, defaults, line.request);
  if (fields.has("body") || fields.has("url") || fields.has("method")) {
    read_openai_form(fields, line);
  } else {
    read_short_form(fields, line);
  }
  fields.finish();
  return line;
}

BatchLine parse_batch_line(std::string_view text, std::int64_t number,
                           const LineDefaults& defaults) {
  const auto document = parse_json(text);
  if (document) return read_batch_line(*document, number, defaults);
  BatchLine line;
  line.number = number;
  line.problems.push_back({"invalid_json_line", document.error().message, ""});
  return line;
}

std::string pointer_in_line(LineForm form, std::string_view engine_pointer) {
  constexpr std::array<std::string_view, 6> kBesidePrompt{
      "/messages", "/prompt", "/prompt_token_ids", "/tools", "/tool_choice", "/response_format"};
  if (engine_pointer.empty()) return {};
  if (form == LineForm::kOpenAi) return std::string("/body").append(engine_pointer);
  const std::string_view first =
      engine_pointer.substr(0, std::min(engine_pointer.find('/', 1), engine_pointer.size()));
  const bool is_beside =
      std::find(kBesidePrompt.begin(), kBesidePrompt.end(), first) != kBesidePrompt.end();
  return std::string(is_beside ? "" : "/sampling_params").append(engine_pointer);
}

}  // namespace deepinfer::cli
