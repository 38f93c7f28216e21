#include "engine/prompt.h"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/text/chat_template.h"

namespace deepinfer::engine {
namespace {

RequestError invalid(const std::string& message, const std::string& pointer) {
  return {"invalid_value", message, pointer};
}

// A message of the text layer may begin with a JSON pointer: "/messages/2/role: unknown role".
RequestError from_text_layer(const Error& error) {
  const std::string& message = error.message;
  const std::size_t colon = message.find(": ");
  if (!message.empty() && message[0] == '/' && colon != std::string::npos) {
    return invalid(message.substr(colon + 2), message.substr(0, colon));
  }
  return invalid(message, "");
}

// Deep enough for any message or schema, shallow enough for every recursive walk over one.
constexpr int kDeepestNesting = 100;

// Brackets of JSON text that are open at once, at most; strings do not count.
int nesting_of(const std::string& text) {
  int depth = 0;
  int deepest = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '"') is_in_string = !is_in_string;
    if (letter == '\\' && is_in_string) ++i;
    if (is_in_string) continue;
    if (letter == '[' || letter == '{') deepest = std::max(deepest, ++depth);
    if (letter == ']' || letter == '}') --depth;
  }
  return deepest;
}

// Null for an empty text; nothing when it is not JSON, or nested deeper than kDeepestNesting.
std::optional<Json> parse_part(const std::string& text) {
  if (text.empty()) return Json(nullptr);
  if (nesting_of(text) > kDeepestNesting) return std::nullopt;
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return std::nullopt;
  return parsed;
}

RequestError too_long(const std::string& length, std::int64_t max_context) {
  return {"prompt_too_long",
          "the prompt has " + length + " tokens, the context of " + std::to_string(max_context) +
              " leaves no room for an answer",
          ""};
}

}  // namespace

PromptEncoder::PromptEncoder(const Tokenizer& tokenizer, const ModelShape& shape,
                             std::int64_t max_context)
    : tokenizer_(tokenizer), shape_(shape), max_context_(max_context) {
  for (std::int32_t id = 0; id < tokenizer.vocabulary(); ++id) {
    const auto bytes = static_cast<std::int64_t>(tokenizer.token_bytes(TokenId{id}).size());
    longest_token_ = std::max(longest_token_, bytes);
  }
}

PromptEncoder::Encoded PromptEncoder::encode(const Request& request) const {
  if (const auto* text = std::get_if<TextPrompt>(&request.prompt)) return encode_text(*text);
  if (const auto* ids = std::get_if<TokenPrompt>(&request.prompt)) return encode_ids(*ids);
  return encode_chat(std::get<ChatPrompt>(request.prompt));
}

PromptEncoder::Encoded PromptEncoder::encode_text(const TextPrompt& prompt) const {
  if (auto error = hopeless(prompt.text.size())) return *std::move(error);
  auto ids = tokenizer_.encode(prompt.text, ControlTokens::kRecognised);
  if (!ids) return invalid(ids.error().message, "/prompt");
  std::vector<TokenId> all = *std::move(ids);
  const TokenId bos{static_cast<std::int32_t>(shape_.bos_token)};
  if (all.empty() || all.front() != bos) all.insert(all.begin(), bos);
  return checked(std::move(all));
}

PromptEncoder::Encoded PromptEncoder::encode_ids(const TokenPrompt& prompt) const {
  if (prompt.ids.empty()) return invalid("the prompt has no tokens", "/prompt_token_ids");
  std::vector<TokenId> ids;
  ids.reserve(prompt.ids.size());
  for (std::size_t i = 0; i < prompt.ids.size(); ++i) {
    const std::int32_t id = prompt.ids[i];
    if (id < 0 || id >= shape_.vocabulary) {
      return RequestError{"token_out_of_range",
                          "token id " + std::to_string(id) +
                              " is outside the vocabulary, allowed is 0 to " +
                              std::to_string(shape_.vocabulary - 1),
                          "/prompt_token_ids/" + std::to_string(i)};
    }
    ids.push_back(TokenId{id});
  }
  return checked(std::move(ids));
}

PromptEncoder::Encoded PromptEncoder::encode_chat(const ChatPrompt& prompt) const {
  const std::optional<Json> messages = parse_part(prompt.messages);
  const std::optional<Json> tools = parse_part(prompt.tools);
  const std::optional<Json> format = parse_part(prompt.response_format);
  if (!messages.has_value()) {
    return invalid("messages are not JSON of at most 100 levels", "/messages");
  }
  if (!tools.has_value()) return invalid("tools are not JSON of at most 100 levels", "/tools");
  if (!format.has_value()) {
    return invalid("the schema is not JSON of at most 100 levels", "/response_format");
  }
  if (prompt.reasoning_effort < 1 || prompt.reasoning_effort > 100) {
    return invalid(
        "reasoning_effort is " + std::to_string(prompt.reasoning_effort) + ", allowed is 1 to 100",
        "/reasoning_effort");
  }
  ChatRequest chat;
  chat.messages = &*messages;
  chat.tools = tools->is_null() ? nullptr : &*tools;
  chat.response_format = format->is_null() ? nullptr : &*format;
  chat.options.thinking = prompt.thinking;
  chat.options.reasoning_effort = prompt.reasoning_effort;
  auto pieces = render_chat(chat);
  if (!pieces) return from_text_layer(pieces.error());
  std::size_t bytes = 0;
  for (const PromptPiece& piece : *pieces) bytes += piece.text.size();
  if (auto error = hopeless(bytes)) return *std::move(error);
  auto ids = encode_pieces(tokenizer_, *pieces);
  if (!ids) return from_text_layer(ids.error());
  return checked(*std::move(ids));
}

PromptEncoder::Encoded PromptEncoder::checked(std::vector<TokenId> ids) const {
  const auto length = static_cast<std::int64_t>(ids.size());
  if (length >= max_context_) return too_long(std::to_string(length), max_context_);
  return ids;
}

std::optional<RequestError> PromptEncoder::hopeless(std::size_t text_bytes) const {
  const std::int64_t least = static_cast<std::int64_t>(text_bytes) / longest_token_;
  if (least < max_context_) return std::nullopt;
  return too_long("at least " + std::to_string(least), max_context_);
}

}  // namespace deepinfer::engine
