// Logits -> the next token of one sequence, and its log-probabilities.
//
// Order: end tokens masked while min_tokens is not reached, bias, penalties (repetition over prompt
// and answer, then frequency and presence over the answer), temperature, then on one softmax top-p,
// top-k and min-p, intersected; the draw. Temperature below 1e-5: the greatest masked logit.
//
// Shapes:   logits [vocabulary] f32
// Numerics: fp64 with exact_math.h; the same bits everywhere
// Batch:    depends on the row's logits, its request, its history and its position alone
// Threads:  pure functions
// Errors:   kDevice when no logit is a number: the caller ends that request with model_fault
// Source:   docs/reference/sampling.md
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <deepinfer/engine.h>

#include "base/ids.h"
#include "base/result.h"

namespace deepinfer::engine {

struct RankedToken {
  TokenId token{};
  float logprob = 0;
};

struct Sampled {
  RankedToken chosen;
  std::vector<RankedToken> top;  // falling, ties to the lower id; params.logprobs of them
};

struct SampleArgs {
  std::span<const float> logits;
  const SamplingParams& params;
  LogprobsMode logprobs_mode = LogprobsMode::kRaw;
  std::uint64_t seed = 0;
  std::int64_t position = 0;                   // in the answer: 0 for its first token
  std::span<const std::int32_t> end_tokens{};  // those that end the sequence; masked by min_tokens
  std::span<const TokenId> prompt{};
  std::span<const TokenId> answer{};  // position tokens
};

[[nodiscard]] Result<Sampled> sample(const SampleArgs& args);

}  // namespace deepinfer::engine
