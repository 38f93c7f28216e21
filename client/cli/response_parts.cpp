#include "client/cli/response_parts.h"

#include <cmath>
#include <utility>
#include <vector>

#include "client/cli/record.h"

namespace deepinfer::cli {
namespace {

using nlohmann::ordered_json;

// JSON has no infinity; the floor is the one that processed logprobs have.
double finite(float logprob) {
  constexpr double kFloor = -9999.0;
  return std::isfinite(logprob) ? static_cast<double>(logprob) : kFloor;
}

// {"token", "logprob", "bytes"}: the bytes are exact where the text cannot be.
ordered_json token_object(const TokenLogprob& entry) {
  ordered_json bytes = ordered_json::array();
  for (const char byte : entry.text) bytes.push_back(static_cast<unsigned char>(byte));
  return {{"token", entry.text}, {"logprob", finite(entry.logprob)}, {"bytes", std::move(bytes)}};
}

ordered_json chat_logprobs(const Choice& choice) {
  ordered_json content = ordered_json::array();
  for (std::size_t i = 0; i < choice.logprobs.size(); ++i) {
    ordered_json entry = token_object(choice.logprobs[i]);
    entry["top_logprobs"] = ordered_json::array();
    if (i < choice.top_logprobs.size()) {
      for (const TokenLogprob& top : choice.top_logprobs[i]) {
        entry["top_logprobs"].push_back(token_object(top));
      }
    }
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}};
}

// Parallel arrays, one element for each token.
ordered_json completion_logprobs(const Choice& choice) {
  ordered_json lists = {{"tokens", ordered_json::array()},
                        {"token_logprobs", ordered_json::array()},
                        {"top_logprobs", ordered_json::array()},
                        {"text_offset", ordered_json::array()}};
  std::size_t offset = 0;
  for (std::size_t i = 0; i < choice.logprobs.size(); ++i) {
    const TokenLogprob& entry = choice.logprobs[i];
    ordered_json tops = ordered_json::array();
    if (i < choice.top_logprobs.size()) {
      for (const TokenLogprob& top : choice.top_logprobs[i]) tops.push_back(token_object(top));
    }
    lists["tokens"].push_back(entry.text);
    lists["token_logprobs"].push_back(finite(entry.logprob));
    lists["top_logprobs"].push_back(std::move(tops));
    lists["text_offset"].push_back(offset);
    offset += entry.text.size();
  }
  return lists;
}

ordered_json logprobs_of(const RecordContext& context, const Choice& choice) {
  if (choice.logprobs.empty()) return nullptr;
  return context.shape == RecordShape::kChat ? chat_logprobs(choice) : completion_logprobs(choice);
}

ordered_json tool_calls_of(const RecordContext& context, const Choice& choice, std::size_t index) {
  ordered_json calls = ordered_json::array();
  for (std::size_t i = 0; i < choice.tool_calls.size(); ++i) {
    const ToolCallText& call = choice.tool_calls[i];
    calls.push_back({{"id", "call_" + std::to_string(context.line) + "_" + std::to_string(index) +
                                "_" + std::to_string(i)},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return calls;
}

ordered_json message_of(const RecordContext& context, const Choice& choice, std::size_t index) {
  ordered_json message;
  message["role"] = "assistant";
  message["content"] = choice.content;
  message["reasoning_content"] =
      choice.reasoning_content ? ordered_json(*choice.reasoning_content) : ordered_json(nullptr);
  message["tool_calls"] = tool_calls_of(context, choice, index);
  return message;
}

// The stop string or token that ended it.
ordered_json stop_reason_of(const Choice& choice) {
  if (choice.stop_string) return *choice.stop_string;
  if (choice.stop_token) return *choice.stop_token;
  return nullptr;
}

}  // namespace

ordered_json choice_object(const RecordContext& context, const Choice& choice, std::size_t index) {
  ordered_json object;
  object["index"] = index;
  if (context.shape == RecordShape::kChat) {
    object["message"] = message_of(context, choice, index);
  } else {
    object["text"] = choice.text;
  }
  object["finish_reason"] = name_of(choice.reason);
  object["stop_reason"] = stop_reason_of(choice);
  object["logprobs"] = logprobs_of(context, choice);
  object["seed"] = choice.seed;
  if (context.return_token_ids) object["token_ids"] = choice.tokens;
  return object;
}

std::string to_text(const ordered_json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
}

}  // namespace deepinfer::cli
