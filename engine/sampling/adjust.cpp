#include "engine/sampling/adjust.h"

#include <cstddef>
#include <limits>
#include <map>

namespace deepinfer::engine {
namespace {

void mask_ends(const SampleArgs& args, std::vector<float>& logits) {
  if (args.position >= args.params.min_tokens) return;
  for (const std::int32_t token : args.end_tokens) {
    logits[static_cast<std::size_t>(token)] = -std::numeric_limits<float>::infinity();
  }
}

void add_bias(const SampleArgs& args, std::vector<float>& logits) {
  for (const auto& [token, bias] : args.params.logit_bias) {
    logits[static_cast<std::size_t>(token)] += static_cast<float>(bias);
  }
}

void penalise(const SampleArgs& args, std::vector<float>& logits) {
  const SamplingParams& params = args.params;
  std::map<std::int32_t, std::int64_t> answer_counts;
  for (const TokenId token : args.answer) ++answer_counts[value_of(token)];

  if (params.repetition_penalty != 1.0) {
    std::map<std::int32_t, std::int64_t> seen = answer_counts;
    for (const TokenId token : args.prompt) ++seen[value_of(token)];
    const auto factor = static_cast<float>(params.repetition_penalty);
    for (const auto& item : seen) {
      float& logit = logits[static_cast<std::size_t>(item.first)];
      logit = logit > 0.0F ? logit / factor : logit * factor;
    }
  }
  const auto frequency = static_cast<float>(params.frequency_penalty);
  const auto presence = static_cast<float>(params.presence_penalty);
  for (const auto& [token, count] : answer_counts) {
    float& logit = logits[static_cast<std::size_t>(token)];
    logit -= frequency * static_cast<float>(count);
    logit -= presence;
  }
}

bool has_penalty(const SamplingParams& params) {
  return params.repetition_penalty != 1.0 || params.frequency_penalty != 0.0 ||
         params.presence_penalty != 0.0;
}

}  // namespace

bool needs_no_adjustment(const SampleArgs& args) {
  return args.position >= args.params.min_tokens && args.params.logit_bias.empty() &&
         !has_penalty(args.params);
}

std::vector<float> adjusted_logits(const SampleArgs& args) {
  std::vector<float> logits(args.logits.begin(), args.logits.end());
  mask_ends(args, logits);
  add_bias(args, logits);
  if (has_penalty(args.params)) penalise(args, logits);
  return logits;
}

}  // namespace deepinfer::engine
