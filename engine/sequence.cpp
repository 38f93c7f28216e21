#include "engine/sequence.h"

#include <algorithm>
#include <utility>

#include "engine/text/chat_answer.h"

namespace deepinfer::engine {
namespace {

// A chat keeps the control tokens in its text: its parser needs them.
SpecialTokens text_mode(const RequestFacts& facts) {
  const bool skip = facts.params.skip_special_tokens && !facts.is_chat;
  return skip ? SpecialTokens::kSkip : SpecialTokens::kKeep;
}

}  // namespace

Sequence::Sequence(const Tokenizer& tokenizer, const RequestFacts& facts, std::uint64_t seed)
    : tokenizer_(tokenizer),
      facts_(facts),
      tokens_(facts.prompt),
      text_(tokenizer, text_mode(facts)),
      stops_(facts.params.stop, facts.params.include_stop_str_in_output) {
  choice_.seed = seed;
}

bool Sequence::push(const Sampled& sampled, TokenEvent& event) {
  const TokenId token = sampled.chosen.token;
  tokens_.push_back(token);
  event.token = value_of(token);
  if (facts_.params.logprobs.has_value()) note_logprobs(sampled, event);
  check_end(token);
  take_text(token, event);
  if (ended_) event.text += finish_text();
  choice_.text += event.text;
  return ended_;
}

void Sequence::note_logprobs(const Sampled& sampled, TokenEvent& event) {
  const auto described = [this](const RankedToken& ranked) {
    return TokenLogprob{.token = value_of(ranked.token),
                        .logprob = ranked.logprob,
                        .text = std::string(tokenizer_.token_bytes(ranked.token))};
  };
  event.logprob = described(sampled.chosen);
  for (const RankedToken& ranked : sampled.top) event.top_logprobs.push_back(described(ranked));
  choice_.logprobs.push_back(*event.logprob);
  choice_.top_logprobs.push_back(event.top_logprobs);
}

void Sequence::check_end(TokenId token) {
  const std::int32_t id = value_of(token);
  const auto& stop_tokens = facts_.params.stop_token_ids;
  const bool is_stop_token =
      std::find(stop_tokens.begin(), stop_tokens.end(), id) != stop_tokens.end();
  if (is_stop_token || (id == facts_.eos && !facts_.params.ignore_eos)) {
    ended_ = true;
    choice_.reason = FinishReason::kStop;
    if (is_stop_token) choice_.stop_token = id;
    return;
  }
  if (static_cast<std::int64_t>(answer().size()) >= facts_.max_answer) {
    ended_ = true;
    choice_.reason = FinishReason::kLength;
  }
}

void Sequence::take_text(TokenId token, TokenEvent& event) {
  const bool is_end = ended_ && choice_.reason == FinishReason::kStop;
  if (is_end) return;  // the text of an end token is not part of the answer
  std::string piece = text_.push(token);
  if (ended_) piece += text_.finish();
  StopStrings::Outcome outcome = stops_.push(piece);
  event.text = std::move(outcome.text);
  if (!outcome.stopped) return;
  ended_ = true;
  choice_.reason = FinishReason::kStop;
  choice_.stop_string = std::move(outcome.stop);
}

std::string Sequence::finish_text() {
  if (choice_.stop_string.has_value()) return {};
  // An end token leaves bytes waiting in the stream; a stop string may still end in them.
  StopStrings::Outcome last = stops_.push(text_.finish());
  return last.stopped ? last.text : last.text + stops_.finish();
}

void Sequence::end(FinishReason reason, std::optional<RequestError> error) {
  if (ended_) return;
  ended_ = true;
  choice_.reason = reason;
  choice_.error = std::move(error);
  choice_.text += finish_text();
}

Choice Sequence::take_choice() {
  for (const TokenId token : answer()) choice_.tokens.push_back(value_of(token));
  if (!facts_.is_chat) return std::move(choice_);

  const ChatAnswer parsed = parse_answer(choice_.text, facts_.thinking);
  choice_.content = parsed.content;
  if (facts_.thinking) choice_.reasoning_content = parsed.reasoning;
  for (const ToolCall& call : parsed.tool_calls) {
    choice_.tool_calls.push_back({.name = call.name, .arguments = call.arguments});
  }
  if (!choice_.tool_calls.empty() && choice_.reason == FinishReason::kStop) {
    choice_.reason = FinishReason::kToolCalls;
  }
  if (facts_.thinking) {
    const auto all = answer();
    const auto close = facts_.think_end.has_value()
                           ? std::find(all.begin(), all.end(), *facts_.think_end)
                           : all.end();
    choice_.reasoning_tokens =
        close == all.end() ? static_cast<std::int64_t>(all.size()) : close - all.begin() + 1;
  }
  return std::move(choice_);
}

}  // namespace deepinfer::engine
