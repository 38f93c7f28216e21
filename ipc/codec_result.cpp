#include <cstdint>
#include <numeric>
#include <utility>

#include "ipc/capnp_reader.h"
#include "ipc/capnp_writer.h"
#include "ipc/codec.h"
#include "ipc/codec_logprobs.h"
#include "ipc/protocol.capnp.h"

namespace deepinfer::ipc {
namespace {

constexpr const char* kText = "the text";

// ---- errors ----

void add_room(Room& room, const RequestError& error) {
  room.add_struct<protocol::RequestError>();
  room.add_bytes(error.code.size()).add_bytes(error.message.size()).add_bytes(error.param.size());
}

void write_error(const RequestError& error, protocol::RequestError::Builder out) {
  out.setCode(data_of(error.code));
  out.setMessage(data_of(error.message));
  out.setParam(data_of(error.param));
}

void read_error(protocol::RequestError::Reader in, RequestError& error, Reader& reader) {
  error = {.code = reader.text("the code", in.getCode()),
           .message = reader.text("the message", in.getMessage()),
           .param = reader.text("the param", in.getParam())};
}

// ---- tokens ----

void read_token(protocol::TokenEvent::Reader in, TokenEvent& event, Reader& reader) {
  event.request = RequestHandle{in.getRequest()};
  event.choice = in.getChoice();
  event.token = in.getToken();
  event.text = reader.text(kText, in.getText());
  if (in.getHasLogprob()) {
    event.logprob = TokenLogprob{.token = in.getLogprobToken(),
                                 .logprob = in.getLogprob(),
                                 .text = reader.text(kText, in.getLogprobText())};
  }
  event.top_logprobs = read_logprobs(in.getTopLogprobs(), reader);
}

// ---- choices ----

void add_room(Room& room, const Choice& choice) {
  room.add_bytes(choice.text.size()).add_bytes(choice.tokens.size() * sizeof(std::int32_t));
  if (choice.stop_string) room.add_bytes(choice.stop_string->size());
  if (!choice.logprobs.empty()) add_logprobs_room(room, choice.logprobs);
  if (!choice.top_logprobs.empty()) add_top_logprobs_room(room, choice.top_logprobs);
  if (choice.error) add_room(room, *choice.error);
  room.add_bytes(choice.content.size());
  if (choice.reasoning_content) room.add_bytes(choice.reasoning_content->size());
  room.add_structs<protocol::ToolCall>(choice.tool_calls.size());
  for (const ToolCallText& call : choice.tool_calls) {
    room.add_bytes(call.name.size()).add_bytes(call.arguments.size());
  }
}

void write_tool_calls(const std::vector<ToolCallText>& calls, protocol::Choice::Builder out) {
  if (calls.empty()) return;
  auto list = out.initToolCalls(static_cast<unsigned>(calls.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setName(data_of(calls[i].name));
    list[i].setArguments(data_of(calls[i].arguments));
  }
}

void write_choice(const Choice& choice, protocol::Choice::Builder out) {
  out.setReason(static_cast<protocol::FinishReason>(choice.reason));
  if (!choice.text.empty()) out.setText(data_of(choice.text));
  if (!choice.tokens.empty()) out.setTokens(data_of(choice.tokens));
  out.setSeed(choice.seed);
  out.setHasStopString(choice.stop_string.has_value());
  if (choice.stop_string) out.setStopString(data_of(*choice.stop_string));
  out.setHasStopToken(choice.stop_token.has_value());
  out.setStopToken(choice.stop_token.value_or(0));
  if (!choice.logprobs.empty()) write_logprobs(choice.logprobs, out.initLogprobs());
  if (!choice.top_logprobs.empty()) write_top_logprobs(choice.top_logprobs, out.initTopLogprobs());
  if (choice.error) write_error(*choice.error, out.initError());
  if (!choice.content.empty()) out.setContent(data_of(choice.content));
  out.setHasReasoningContent(choice.reasoning_content.has_value());
  if (choice.reasoning_content) out.setReasoningContent(data_of(*choice.reasoning_content));
  write_tool_calls(choice.tool_calls, out);
  out.setReasoningTokens(choice.reasoning_tokens);
}

std::vector<ToolCallText> read_tool_calls(protocol::Choice::Reader in, Reader& reader) {
  const auto list = in.getToolCalls();
  std::vector<ToolCallText> calls(reader.elements("the tool calls", list));
  for (unsigned i = 0; i < calls.size(); ++i) {
    calls[i].name = reader.text(kText, list[i].getName());
    calls[i].arguments = reader.text(kText, list[i].getArguments());
  }
  return calls;
}

void read_choice(protocol::Choice::Reader in, Choice& choice, Reader& reader) {
  choice.reason = reader.known("the finish reason", in.getReason(), FinishReason::kError);
  choice.text = reader.text(kText, in.getText());
  choice.tokens = reader.numbers<std::int32_t>("the tokens", in.getTokens());
  choice.seed = in.getSeed();
  if (in.getHasStopString()) choice.stop_string = reader.text(kText, in.getStopString());
  if (in.getHasStopToken()) choice.stop_token = in.getStopToken();
  choice.logprobs = read_logprobs(in.getLogprobs(), reader);
  choice.top_logprobs = read_top_logprobs(in.getTopLogprobs(), reader);
  if (in.hasError()) read_error(in.getError(), choice.error.emplace(), reader);
  choice.content = reader.text(kText, in.getContent());
  if (in.getHasReasoningContent()) {
    choice.reasoning_content = reader.text(kText, in.getReasoningContent());
  }
  choice.tool_calls = read_tool_calls(in, reader);
  choice.reasoning_tokens = in.getReasoningTokens();
}

// ---- results ----

Room room_of(const RequestResult& result) {
  Room room;
  room.add_struct<protocol::RequestResult>();
  room.add_bytes(result.prompt_tokens.size() * sizeof(std::int32_t));
  room.add_structs<protocol::Choice>(result.choices.size());
  for (const Choice& choice : result.choices) add_room(room, choice);
  return room;
}

// What is told instead of a result that is too large: that it is.
RequestResult without_contents(const RequestResult& result, std::size_t bytes,
                               std::size_t most_bytes) {
  RequestResult bare;
  bare.request = result.request;
  bare.choices.resize(result.choices.size());
  for (std::size_t i = 0; i < bare.choices.size(); ++i) {
    bare.choices[i].seed = result.choices[i].seed;
    bare.choices[i].error =
        RequestError{.code = "result_too_large",
                     .message = "the result takes " + std::to_string(bytes) + " bytes, at most " +
                                std::to_string(most_bytes) + " can be sent",
                     .param = ""};
  }
  return bare;
}

void write_result(const RequestResult& result, const Room& room, Words& words) {
  write_message<protocol::RequestResult>(room, words, [&](protocol::RequestResult::Builder out) {
    out.setRequest(static_cast<std::uint64_t>(result.request));
    if (!result.prompt_tokens.empty()) out.setPromptTokens(data_of(result.prompt_tokens));
    if (result.choices.empty()) return;
    auto choices = out.initChoices(static_cast<unsigned>(result.choices.size()));
    for (unsigned i = 0; i < choices.size(); ++i) write_choice(result.choices[i], choices[i]);
  });
}

void read_result(protocol::RequestResult::Reader in, RequestResult& result, Reader& reader) {
  result.request = RequestHandle{in.getRequest()};
  result.prompt_tokens = reader.numbers<std::int32_t>("the prompt", in.getPromptTokens());
  const auto list = in.getChoices();
  result.choices.resize(reader.elements("the choices", list));
  for (unsigned i = 0; i < result.choices.size(); ++i) {
    read_choice(list[i], result.choices[i], reader);
  }
}

}  // namespace

void encode(const RequestResult& result, Words& words, std::size_t most_bytes) {
  const Room room = room_of(result);
  if (room.bytes() <= most_bytes) {
    write_result(result, room, words);
    return;
  }
  const RequestResult bare = without_contents(result, room.bytes(), most_bytes);
  write_result(bare, room_of(bare), words);
}

Result<RequestResult> decode_result(WordView words) {
  return read_message<protocol::RequestResult, RequestResult>(words, read_result);
}

void encode(const RequestError& error, Words& words) {
  Room room;
  add_room(room, error);
  write_message<protocol::RequestError>(
      room, words, [&](protocol::RequestError::Builder out) { write_error(error, out); });
}

Result<RequestError> decode_error(WordView words) {
  return read_message<protocol::RequestError, RequestError>(words, read_error);
}

void encode(const TokenEvent& event, Words& words) {
  Room room;
  room.add_struct<protocol::TokenEvent>().add_bytes(event.text.size());
  if (event.logprob) room.add_bytes(event.logprob->text.size());
  if (!event.top_logprobs.empty()) add_logprobs_room(room, event.top_logprobs);
  write_message<protocol::TokenEvent>(room, words, [&](protocol::TokenEvent::Builder out) {
    out.setRequest(static_cast<std::uint64_t>(event.request));
    out.setChoice(event.choice);
    out.setToken(event.token);
    if (!event.text.empty()) out.setText(data_of(event.text));
    out.setHasLogprob(event.logprob.has_value());
    if (event.logprob) {
      out.setLogprob(event.logprob->logprob);
      out.setLogprobToken(event.logprob->token);
      out.setLogprobText(data_of(event.logprob->text));
    }
    if (!event.top_logprobs.empty()) write_logprobs(event.top_logprobs, out.initTopLogprobs());
  });
}

Result<TokenEvent> decode_token(WordView words) {
  return read_message<protocol::TokenEvent, TokenEvent>(words, read_token);
}

}  // namespace deepinfer::ipc
