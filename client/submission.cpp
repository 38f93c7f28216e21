#include "client/submission.h"

#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "client/errors.h"

namespace deepinfer::client {
namespace {

using Bytes = std::span<const std::byte>;

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// The parts of a prompt, in the order of its message's spans.
struct PromptParts {
  std::array<Bytes, 3> parts{};
  std::variant<ipc::TextSpans, ipc::TokenSpans, ipc::ChatSpans> message;
};

PromptParts parts_of(const TextPrompt& prompt) {
  return {.parts = {bytes_of(prompt.text)}, .message = ipc::TextSpans{}};
}
PromptParts parts_of(const TokenPrompt& prompt) {
  return {.parts = {std::as_bytes(std::span(prompt.ids))}, .message = ipc::TokenSpans{}};
}
PromptParts parts_of(const ChatPrompt& prompt) {
  ipc::ChatSpans message;
  message.thinking = prompt.thinking;
  message.reasoning_effort = prompt.reasoning_effort;
  return {.parts = {bytes_of(prompt.messages), bytes_of(prompt.tools),
                    bytes_of(prompt.response_format)},
          .message = message};
}

void set_spans(ipc::TextSpans& message, const Spans& spans) { message.text = spans[0]; }
void set_spans(ipc::TokenSpans& message, const Spans& spans) { message.ids = spans[0]; }
void set_spans(ipc::ChatSpans& message, const Spans& spans) {
  message.messages = spans[0];
  message.tools = spans[1];
  message.response_format = spans[2];
}

// All of Request but the prompt, whose copy would be the greatest part of the work.
Request without_prompt(const Request& request) {
  Request copy;
  copy.sampling = request.sampling;
  copy.custom_id = request.custom_id;
  copy.priority = request.priority;
  copy.deadline = request.deadline;
  copy.job_seed = request.job_seed;
  return copy;
}

bool copy_into(ipc::SpanArena& arena, Bytes bytes, ipc::Span& span) {
  if (bytes.empty()) return true;
  const auto allocated = arena.allocate(bytes.size());
  if (!allocated) return false;
  span = *allocated;
  std::memcpy(arena.bytes_of(span).data(), bytes.data(), bytes.size());
  return true;
}

std::uint64_t bytes_in(const PromptParts& prompt) {
  std::uint64_t bytes = 0;
  for (const Bytes part : prompt.parts) bytes += part.size();
  return bytes;
}

}  // namespace

ClientError cannot_fit(const ipc::SpanArena& arena, const Request& request) {
  const PromptParts prompt =
      std::visit([](const auto& form) { return parts_of(form); }, request.prompt);
  return {.fault = ClientFault::kRefused,
          .code = "cannot_fit",
          .what = "the prompt takes " + std::to_string(bytes_in(prompt)) +
                  " bytes, a session's arena holds " + std::to_string(arena.most_bytes()),
          .where = "prompt",
          .mend = "shorten the prompt, or raise the daemon's ipc.arena_bytes"};
}

std::variant<Submission, NoRoom, ClientError> prepare(ipc::SpanArena& arena, const Request& request,
                                                      const Client::SubmitOptions& options) {
  PromptParts prompt = std::visit([](const auto& form) { return parts_of(form); }, request.prompt);
  if (bytes_in(prompt) > arena.most_bytes()) return cannot_fit(arena, request);

  Submission submission;
  for (std::size_t i = 0; i < prompt.parts.size(); ++i) {
    if (!copy_into(arena, prompt.parts[i], submission.spans[i])) {
      free_spans(arena, submission.spans);
      return NoRoom{};
    }
  }
  std::visit([&](auto& message) { set_spans(message, submission.spans); }, prompt.message);
  ipc::encode(ipc::SubmitMessage{.job = options.job,
                                 .stream = options.stream,
                                 .request = without_prompt(request),
                                 .prompt = prompt.message},
              submission.words);

  const Bytes descriptor = ipc::bytes_of(submission.words);
  submission.is_inline = descriptor.size() <= ipc::kMaxInlineBytes;
  if (submission.is_inline) return submission;
  if (descriptor.size() > ipc::kMaxDescriptorBytes) {
    free_spans(arena, submission.spans);
    return usage("invalid_value",
                 "the sampling parameters take " + std::to_string(descriptor.size()) +
                     " bytes, at most " + std::to_string(ipc::kMaxDescriptorBytes) + " are allowed",
                 "sampling", "give fewer or shorter stop strings and biases");
  }
  if (!copy_into(arena, descriptor, submission.spans.back())) {
    free_spans(arena, submission.spans);
    return NoRoom{};
  }
  return submission;
}

Result<bool> publish(ipc::ClientEnd& end, RequestHandle request, const Submission& submission) {
  const auto user_data = static_cast<std::uint64_t>(request);
  if (!submission.is_inline) {
    return end.submit_from_arena(ipc::Operation::kSubmit, user_data, submission.spans.back());
  }
  return end.submit(ipc::Operation::kSubmit, user_data, submission.words);
}

}  // namespace deepinfer::client
