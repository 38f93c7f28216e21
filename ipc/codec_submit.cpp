#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>

#include "ipc/capnp_reader.h"
#include "ipc/capnp_writer.h"
#include "ipc/codec.h"
#include "ipc/protocol.capnp.h"

namespace deepinfer::ipc {
namespace {

Room room_of(const SubmitMessage& message) {
  const SamplingParams& sampling = message.request.sampling;
  Room room;
  room.add_struct<protocol::Submit>().add_struct<protocol::Sampling>();
  room.add_struct<protocol::Chat>();
  for (int span = 0; span < 3; ++span) room.add_struct<protocol::Span>();
  room.add_bytes(message.request.custom_id.size());
  room.add_bytes(sampling.logit_bias.size() * sizeof(std::int32_t));
  room.add_bytes(sampling.logit_bias.size() * sizeof(double));
  room.add_bytes(sampling.stop_token_ids.size() * sizeof(std::int32_t));
  room.add_pointers(sampling.stop.size());
  for (const std::string& stop : sampling.stop) room.add_bytes(stop.size());
  return room;
}

// ---- writing ----

void write_span(Span span, protocol::Span::Builder out) {
  out.setOffset(span.offset);
  out.setBytes(span.bytes);
}

void write_prompt(const TextSpans& prompt, protocol::Submit::Prompt::Builder out) {
  write_span(prompt.text, out.initText());
}

void write_prompt(const TokenSpans& prompt, protocol::Submit::Prompt::Builder out) {
  write_span(prompt.ids, out.initTokens());
}

void write_prompt(const ChatSpans& prompt, protocol::Submit::Prompt::Builder out) {
  auto chat = out.initChat();
  write_span(prompt.messages, chat.initMessages());
  write_span(prompt.tools, chat.initTools());
  write_span(prompt.response_format, chat.initResponseFormat());
  chat.setThinking(prompt.thinking);
  chat.setReasoningEffort(prompt.reasoning_effort);
}

void write_bias(const SamplingParams& params, protocol::Sampling::Builder out) {
  if (params.logit_bias.empty()) return;
  const auto count = static_cast<unsigned>(params.logit_bias.size());
  Column ids(out.initLogitBiasIds(count * unsigned{sizeof(std::int32_t)}));
  Column values(out.initLogitBiasValues(count * unsigned{sizeof(double)}));
  for (const auto& [id, value] : params.logit_bias) {
    ids.put(id);
    values.put(value);
  }
}

void write_stops(const SamplingParams& params, protocol::Sampling::Builder out) {
  if (!params.stop_token_ids.empty()) out.setStopTokenIds(data_of(params.stop_token_ids));
  if (params.stop.empty()) return;
  auto stops = out.initStop(static_cast<unsigned>(params.stop.size()));
  for (unsigned i = 0; i < stops.size(); ++i) stops.set(i, data_of(params.stop[i]));
}

void write_sampling(const SamplingParams& params, protocol::Sampling::Builder out) {
  out.setHasMaxTokens(params.max_tokens.has_value());
  out.setMaxTokens(params.max_tokens.value_or(0));
  out.setMinTokens(params.min_tokens);
  out.setTemperature(params.temperature);
  out.setTopP(params.top_p);
  out.setTopK(params.top_k);
  out.setMinP(params.min_p);
  out.setPresencePenalty(params.presence_penalty);
  out.setFrequencyPenalty(params.frequency_penalty);
  out.setRepetitionPenalty(params.repetition_penalty);
  write_bias(params, out);
  out.setHasSeed(params.seed.has_value());
  out.setSeed(params.seed.value_or(0));
  write_stops(params, out);
  out.setIncludeStopStrInOutput(params.include_stop_str_in_output);
  out.setIgnoreEos(params.ignore_eos);
  out.setSkipSpecialTokens(params.skip_special_tokens);
  out.setN(params.n);
  out.setHasLogprobs(params.logprobs.has_value());
  out.setLogprobs(params.logprobs.value_or(0));
  out.setHasLogprobsMode(params.logprobs_mode.has_value());
  const LogprobsMode mode = params.logprobs_mode.value_or(LogprobsMode::kRaw);
  out.setLogprobsMode(static_cast<protocol::LogprobsMode>(mode));
}

std::int64_t nanoseconds_of(std::chrono::steady_clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

// ---- reading ----

Span read_span(protocol::Span::Reader in) { return {in.getOffset(), in.getBytes()}; }

std::variant<TextSpans, TokenSpans, ChatSpans> read_prompt(protocol::Submit::Prompt::Reader in,
                                                           Reader& reader) {
  switch (in.which()) {
    case protocol::Submit::Prompt::TEXT:
      return TextSpans{read_span(in.getText())};
    case protocol::Submit::Prompt::TOKENS: {
      const TokenSpans tokens{read_span(in.getTokens())};
      if (tokens.ids.bytes % sizeof(std::int32_t) != 0) {
        reader.refuse("the token ids have " + std::to_string(tokens.ids.bytes) +
                      " bytes, not whole numbers of 4");
      }
      return tokens;
    }
    case protocol::Submit::Prompt::CHAT: {
      const auto chat = in.getChat();
      return ChatSpans{.messages = read_span(chat.getMessages()),
                       .tools = read_span(chat.getTools()),
                       .response_format = read_span(chat.getResponseFormat()),
                       .thinking = chat.getThinking(),
                       .reasoning_effort = chat.getReasoningEffort()};
    }
  }
  reader.refuse("the form of the prompt is unknown");
  return TextSpans{};
}

void read_bias(protocol::Sampling::Reader in, SamplingParams& params, Reader& reader) {
  const auto ids = reader.numbers<std::int32_t>("logit_bias", in.getLogitBiasIds());
  const auto values = reader.numbers<double>("logit_bias", in.getLogitBiasValues());
  if (ids.size() != values.size()) {
    reader.refuse("logit_bias has " + std::to_string(ids.size()) + " ids and " +
                  std::to_string(values.size()) + " values");
    return;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0 && ids[i] <= ids[i - 1]) {
      reader.refuse("the ids of logit_bias do not rise");
      return;
    }
    params.logit_bias.emplace_hint(params.logit_bias.end(), ids[i],
                                   reader.finite("logit_bias", values[i]));
  }
}

void read_stops(protocol::Sampling::Reader in, SamplingParams& params, Reader& reader) {
  params.stop_token_ids = reader.numbers<std::int32_t>("stop_token_ids", in.getStopTokenIds());
  const auto stops = in.getStop();
  const unsigned count = reader.elements("stop", stops);
  params.stop.reserve(count);
  for (unsigned i = 0; i < count; ++i) params.stop.push_back(reader.text("stop", stops[i]));
}

void read_sampling(protocol::Sampling::Reader in, SamplingParams& params, Reader& reader) {
  if (in.getHasMaxTokens()) params.max_tokens = in.getMaxTokens();
  params.min_tokens = in.getMinTokens();
  params.temperature = reader.finite("temperature", in.getTemperature());
  params.top_p = reader.finite("top_p", in.getTopP());
  params.top_k = in.getTopK();
  params.min_p = reader.finite("min_p", in.getMinP());
  params.presence_penalty = reader.finite("presence_penalty", in.getPresencePenalty());
  params.frequency_penalty = reader.finite("frequency_penalty", in.getFrequencyPenalty());
  params.repetition_penalty = reader.finite("repetition_penalty", in.getRepetitionPenalty());
  read_bias(in, params, reader);
  if (in.getHasSeed()) params.seed = in.getSeed();
  read_stops(in, params, reader);
  params.include_stop_str_in_output = in.getIncludeStopStrInOutput();
  params.ignore_eos = in.getIgnoreEos();
  params.skip_special_tokens = in.getSkipSpecialTokens();
  params.n = in.getN();
  if (in.getHasLogprobs()) params.logprobs = in.getLogprobs();
  if (in.getHasLogprobsMode()) {
    params.logprobs_mode =
        reader.known("logprobs_mode", in.getLogprobsMode(), LogprobsMode::kProcessed);
  }
}

void read_submit(protocol::Submit::Reader in, SubmitMessage& message, Reader& reader) {
  if (in.getHasJob()) message.job = JobId{.high = in.getJobHigh(), .low = in.getJobLow()};
  message.stream = in.getStream();
  message.request.custom_id = reader.text("custom_id", in.getCustomId());
  message.request.priority = in.getPriority();
  if (in.getHasDeadline()) {
    message.request.deadline =
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(in.getDeadline()));
  }
  if (in.getHasJobSeed()) message.request.job_seed = in.getJobSeed();
  read_sampling(in.getSampling(), message.request.sampling, reader);
  message.prompt = read_prompt(in.getPrompt(), reader);
}

}  // namespace

void encode(const SubmitMessage& message, Words& words) {
  write_message<protocol::Submit>(room_of(message), words, [&](protocol::Submit::Builder out) {
    const Request& request = message.request;
    const JobId job = message.job.value_or(JobId{});
    out.setHasJob(message.job.has_value());
    out.setJobHigh(job.high);
    out.setJobLow(job.low);
    out.setStream(message.stream);
    if (!request.custom_id.empty()) out.setCustomId(data_of(request.custom_id));
    out.setPriority(request.priority);
    out.setHasDeadline(request.deadline.has_value());
    out.setDeadline(
        nanoseconds_of(request.deadline.value_or(decltype(request.deadline)::value_type{})));
    out.setHasJobSeed(request.job_seed.has_value());
    out.setJobSeed(request.job_seed.value_or(0));
    write_sampling(request.sampling, out.initSampling());
    std::visit([&](const auto& prompt) { write_prompt(prompt, out.getPrompt()); }, message.prompt);
  });
}

Result<SubmitMessage> decode_submit(WordView words) {
  return read_message<protocol::Submit, SubmitMessage>(words, read_submit);
}

}  // namespace deepinfer::ipc
