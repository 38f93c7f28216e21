#include "daemon/prompt_reader.h"

#include <span>
#include <string>
#include <utility>

namespace deepinfer::daemon {
namespace {

Result<std::string> read_text(const ipc::DaemonEnd& end, ipc::Span span) {
  // Before anything is allocated: a size is the client's claim until it is known to fit.
  if (span.bytes > end.geometry().arena_bytes) {
    return fail(ErrorCode::kInvalidArgument,
                "a span of " + std::to_string(span.bytes) + " bytes is larger than the arena");
  }
  std::string text(span.bytes, '\0');
  DEEPINFER_TRY([[maybe_unused]] const Done copied,
                end.copy_span(span, std::as_writable_bytes(std::span(text))));
  return text;
}

Result<TokenPrompt> read_ids(const ipc::DaemonEnd& end, ipc::Span span) {
  if (span.bytes > end.geometry().arena_bytes || span.bytes % sizeof(std::int32_t) != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "a span of " + std::to_string(span.bytes) + " bytes holds no list of token ids");
  }
  TokenPrompt prompt;
  prompt.ids.resize(span.bytes / sizeof(std::int32_t));
  DEEPINFER_TRY([[maybe_unused]] const Done copied,
                end.copy_span(span, std::as_writable_bytes(std::span(prompt.ids))));
  return prompt;
}

Result<ChatPrompt> read_chat(const ipc::DaemonEnd& end, const ipc::ChatSpans& spans) {
  ChatPrompt prompt;
  DEEPINFER_TRY(prompt.messages, read_text(end, spans.messages));
  DEEPINFER_TRY(prompt.tools, read_text(end, spans.tools));
  DEEPINFER_TRY(prompt.response_format, read_text(end, spans.response_format));
  prompt.thinking = spans.thinking;
  prompt.reasoning_effort = spans.reasoning_effort;
  return prompt;
}

std::uint64_t sum(std::uint64_t left, std::uint64_t right) {
  return left > ~right ? ~std::uint64_t{0} : left + right;
}

}  // namespace

std::uint64_t prompt_bytes(const ipc::SubmitMessage& message) {
  if (const auto* text = std::get_if<ipc::TextSpans>(&message.prompt)) return text->text.bytes;
  if (const auto* ids = std::get_if<ipc::TokenSpans>(&message.prompt)) return ids->ids.bytes;
  const auto& chat = std::get<ipc::ChatSpans>(message.prompt);
  return sum(chat.messages.bytes, sum(chat.tools.bytes, chat.response_format.bytes));
}

Result<Request> read_prompt(const ipc::DaemonEnd& end, ipc::SubmitMessage& message) {
  Request request = std::move(message.request);
  if (const auto* text = std::get_if<ipc::TextSpans>(&message.prompt)) {
    DEEPINFER_TRY(std::string words, read_text(end, text->text));
    request.prompt = TextPrompt{std::move(words)};
  } else if (const auto* ids = std::get_if<ipc::TokenSpans>(&message.prompt)) {
    DEEPINFER_TRY(request.prompt, read_ids(end, ids->ids));
  } else {
    DEEPINFER_TRY(request.prompt, read_chat(end, std::get<ipc::ChatSpans>(message.prompt)));
  }
  return request;
}

}  // namespace deepinfer::daemon
