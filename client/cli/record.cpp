#include "client/cli/record.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "client/cli/response_parts.h"

namespace deepinfer::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kIdPrefix = "batch_req_";

ordered_json nullable(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json error_object(const FieldProblem& problem) {
  return {{"code", problem.code}, {"message", problem.message}, {"param", nullable(problem.param)}};
}

std::string text_of(std::int64_t line, const std::optional<std::string>& custom_id,
                    ordered_json response, ordered_json error) {
  ordered_json record;
  record["id"] = std::string(kIdPrefix) + std::to_string(line);
  record["custom_id"] = custom_id ? ordered_json(*custom_id) : ordered_json(nullptr);
  record["response"] = std::move(response);
  record["error"] = std::move(error);
  return to_text(record) + "\n";
}

// What went wrong with a request that ran, and the HTTP status that says so.
struct Failure {
  int status = 200;
  FieldProblem problem;
};

Failure failure_of_choice(const Choice& choice, LineForm form) {
  switch (choice.reason) {
    case FinishReason::kCancelled:
      return {499, {"cancelled", "the request was cancelled; the text so far is in response", ""}};
    case FinishReason::kDeadline:
      return {504, {"deadline", "the deadline passed; the text so far is in response", ""}};
    case FinishReason::kError: {
      if (!choice.error) return {500, {"model_fault", "the engine reported no reason", ""}};
      return {
          500,
          {choice.error->code, choice.error->message, pointer_in_line(form, choice.error->param)}};
    }
    case FinishReason::kStop:
    case FinishReason::kToolCalls:
    case FinishReason::kLength:
      break;
  }
  return {};
}

// The worst of the choices: an error, then a deadline, then a cancel.
Failure failure_of(const RequestResult& result, LineForm form) {
  const auto rank = [](const Failure& failure) {
    if (failure.status == 500) return 3;
    if (failure.status == 504) return 2;
    return failure.status == 499 ? 1 : 0;
  };
  Failure worst;
  for (const Choice& choice : result.choices) {
    Failure failure = failure_of_choice(choice, form);
    if (rank(failure) > rank(worst)) worst = std::move(failure);
  }
  return worst;
}

struct Usage {
  std::int64_t prompt = 0;
  std::int64_t completion = 0;
  std::int64_t reasoning = 0;
};

Usage usage_of(const RequestResult& result) {
  Usage usage;
  usage.prompt = static_cast<std::int64_t>(result.prompt_tokens.size());
  for (const Choice& choice : result.choices) {
    usage.completion += static_cast<std::int64_t>(choice.tokens.size());
    usage.reasoning += choice.reasoning_tokens;
  }
  return usage;
}

// The answer ended before the thinking did: there is no content, which surprises newcomers.
bool is_cut_in_reasoning(const RecordContext& context, const Choice& choice) {
  const auto tokens = static_cast<std::int64_t>(choice.tokens.size());
  return context.thinking && choice.reason == FinishReason::kLength && choice.content.empty() &&
         choice.tool_calls.empty() && choice.reasoning_tokens == tokens;
}

ordered_json warnings_of(const RecordContext& context, const RequestResult& result) {
  ordered_json warnings = ordered_json::array();
  const bool is_cut =
      std::any_of(result.choices.begin(), result.choices.end(),
                  [&](const Choice& choice) { return is_cut_in_reasoning(context, choice); });
  if (is_cut) warnings.push_back("truncated_in_reasoning");
  return warnings;
}

}  // namespace

RecordContext context_of(const BatchLine& line) {
  RecordContext context;
  context.line = line.number;
  context.custom_id = line.custom_id;
  context.form = line.form;
  context.shape = line.shape;
  const auto* chat = std::get_if<ChatPrompt>(&line.request.prompt);
  context.thinking = chat != nullptr && chat->thinking;
  context.return_token_ids = line.return_token_ids;
  return context;
}

ordered_json response_body(const RecordContext& context, const RequestResult& result,
                           const ResponseFacts& facts) {
  const bool is_chat = context.shape == RecordShape::kChat;
  const Usage usage = usage_of(result);
  ordered_json body;
  body["id"] = (is_chat ? "chatcmpl-" : "cmpl-") + std::to_string(context.line);
  body["object"] = is_chat ? "chat.completion" : "text_completion";
  body["created"] =
      std::chrono::duration_cast<std::chrono::seconds>(facts.created.time_since_epoch()).count();
  body["model"] = facts.model;
  body["choices"] = ordered_json::array();
  for (std::size_t i = 0; i < result.choices.size(); ++i) {
    body["choices"].push_back(choice_object(context, result.choices[i], i));
  }
  body["usage"] = {{"prompt_tokens", usage.prompt},
                   {"completion_tokens", usage.completion},
                   {"total_tokens", usage.prompt + usage.completion},
                   {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning}}}};
  if (is_chat) body["thinking"] = context.thinking;
  body["warnings"] = warnings_of(context, result);
  if (context.return_token_ids) body["prompt_token_ids"] = result.prompt_tokens;
  return body;
}

Record record_of_result(const RecordContext& context, const RequestResult& result,
                        const ResponseFacts& facts) {
  const Failure failure = failure_of(result, context.form);
  const Usage usage = usage_of(result);
  ordered_json response;
  response["status_code"] = failure.status;
  response["request_id"] = "req_" + std::to_string(context.line);
  response["body"] = response_body(context, result, facts);
  Record record;
  record.is_success = failure.status == 200;
  record.prompt_tokens = usage.prompt;
  record.completion_tokens = usage.completion;
  record.text = text_of(context.line, context.custom_id, std::move(response),
                        record.is_success ? ordered_json(nullptr) : error_object(failure.problem));
  return record;
}

Record record_of_problems(const BatchLine& line) {
  FieldProblem all = line.problems.front();
  all.message = "line " + std::to_string(line.number) + ": " + all.message;
  for (std::size_t i = 1; i < line.problems.size(); ++i) {
    const FieldProblem& problem = line.problems[i];
    all.message += "; " + problem.message;
    if (!problem.param.empty()) all.message += " (" + problem.param + ")";
  }
  Record record;
  record.text = text_of(line.number, line.custom_id, nullptr, error_object(all));
  return record;
}

Record record_of_refusal(const RecordContext& context, const RequestError& error) {
  const FieldProblem problem{error.code,
                             "line " + std::to_string(context.line) + ": " + error.message,
                             pointer_in_line(context.form, error.param)};
  Record record;
  record.text = text_of(context.line, context.custom_id, nullptr, error_object(problem));
  return record;
}

std::optional<std::int64_t> line_of_record_id(std::string_view id) {
  if (!id.starts_with(kIdPrefix)) return std::nullopt;
  id.remove_prefix(kIdPrefix.size());
  std::int64_t line = 0;
  const auto [stop, code] = std::from_chars(id.data(), id.data() + id.size(), line);
  if (code != std::errc{} || stop != id.data() + id.size() || line < 1) return std::nullopt;
  return line;
}

}  // namespace deepinfer::cli
