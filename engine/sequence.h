// One choice of one request while it is being produced: its tokens, its text, and when it ends.
//
// Threads:  confined to the engine thread
// Lifetime: the Tokenizer and the Request's parameters outlive it
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <deepinfer/engine.h>

#include "base/ids.h"
#include "engine/kv/page_pool.h"
#include "engine/sampling/sampler.h"
#include "engine/text/stop_strings.h"
#include "engine/text/tokenizer.h"

namespace deepinfer::engine {

// What is the same for all choices of a request.
struct RequestFacts {
  SamplingParams params;
  LogprobsMode logprobs_mode = LogprobsMode::kRaw;
  std::vector<TokenId> prompt;
  std::int64_t max_answer = 0;           // tokens: max_tokens, or what is left of the context
  std::vector<std::int32_t> end_tokens;  // that min_tokens masks: the end token and stop tokens
  std::int32_t eos = 1;
  bool is_chat = false;
  bool thinking = false;             // the prompt ended with <think>
  std::optional<TokenId> think_end;  // </think>, where the tokenizer has it
};

class Sequence {
 public:
  Sequence(const Tokenizer& tokenizer, const RequestFacts& facts, std::uint64_t seed);

  // The tokens known so far: prompt, then answer.
  [[nodiscard]] std::span<const TokenId> tokens() const { return tokens_; }
  [[nodiscard]] std::span<const TokenId> answer() const {
    return tokens().subspan(facts_.prompt.size());
  }
  [[nodiscard]] std::int64_t length() const { return static_cast<std::int64_t>(tokens_.size()); }
  [[nodiscard]] std::uint64_t seed() const { return choice_.seed; }

  // Takes the next token. `event` gets its text and log-probabilities. True when it was the last.
  [[nodiscard]] bool push(const Sampled& sampled, TokenEvent& event);

  // Ends the sequence from outside; what was held back becomes text.
  void end(FinishReason reason, std::optional<RequestError> error);
  [[nodiscard]] bool has_ended() const { return ended_; }

  // The finished record; the sequence is spent.
  [[nodiscard]] Choice take_choice();

  // Where its caches lie, managed by the engine.
  std::int64_t computed = 0;
  std::optional<SlotIndex> slot;
  std::vector<PageLease> leases;
  std::vector<std::uint8_t*> blocks;

 private:
  void note_logprobs(const Sampled& sampled, TokenEvent& event);
  void take_text(TokenId token, TokenEvent& event);
  // Sets the reason when `token` ends the sequence by itself: end token, stop token, length.
  void check_end(TokenId token);
  // What was still held back.
  [[nodiscard]] std::string finish_text();

  const Tokenizer& tokenizer_;
  const RequestFacts& facts_;
  std::vector<TokenId> tokens_;
  TextStream text_;
  StopStrings stops_;
  Choice choice_;
  bool ended_ = false;
};

}  // namespace deepinfer::engine
