#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "engine/sampling/adjust.h"
#include "engine/sampling/exact_math.h"
#include "engine/sampling/noise.h"

namespace deepinfer::engine {
namespace {

constexpr double kGreedyBelow = 1e-5;      // temperatures below it mean argmax
constexpr float kLogprobFloor = -9999.0F;  // of the processed mode, as the reference engine

// The lowest id of the greatest logit; -1 when no logit is a number above -infinity.
std::int32_t argmax(std::span<const float> logits) {
  std::int32_t best = -1;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return -1;
    if (best < 0 || logits[i] > logits[static_cast<std::size_t>(best)]) {
      best = static_cast<std::int32_t>(i);
    }
  }
  if (best >= 0 && std::isinf(logits[static_cast<std::size_t>(best)])) return -1;
  return best;
}

// The distribution that is drawn from: tokens that survive the filters, in ascending id order.
class Distribution {
 public:
  Distribution(std::span<const float> logits, float greatest, double temperature)
      : logits_(logits), greatest_(greatest), temperature_(temperature) {
    kept_.resize(logits.size());
    std::iota(kept_.begin(), kept_.end(), 0);
    weights_.reserve(logits.size());
    for (const float logit : logits) {
      weights_.push_back(exact_exp((static_cast<double>(logit) - greatest) / temperature));
      total_ += weights_.back();
    }
  }

  void filter(const SamplingParams& params);

  // A draw from the kept tokens: the greatest scaled logit + gumbel, ties to the lower id.
  [[nodiscard]] std::int32_t draw(std::uint64_t seed, std::int64_t position) const;

  // Log-probability among the kept tokens, renormalised.
  [[nodiscard]] float logprob(std::int32_t token) const;
  [[nodiscard]] const std::vector<std::int32_t>& kept() const { return kept_; }

 private:
  [[nodiscard]] bool falls_before(std::int32_t a, std::int32_t b) const {
    const float x = logits_[static_cast<std::size_t>(a)];
    const float y = logits_[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  }
  [[nodiscard]] double weight(std::int32_t token) const {
    return weights_[static_cast<std::size_t>(token)];
  }
  // How many tokens of the falling order top-p keeps; sorts the beginning of kept_ as far as needed.
  [[nodiscard]] std::size_t top_p_count(double p);
  void sort_first(std::size_t count);

  std::span<const float> logits_;
  double greatest_;
  double temperature_;
  double total_ = 0.0;
  std::vector<double> weights_;
  std::vector<std::int32_t> kept_;
};

void Distribution::sort_first(std::size_t count) {
  const auto middle = kept_.begin() + static_cast<std::ptrdiff_t>(std::min(count, kept_.size()));
  std::partial_sort(kept_.begin(), middle, kept_.end(),
                    [this](std::int32_t a, std::int32_t b) { return falls_before(a, b); });
}

std::size_t Distribution::top_p_count(double p) {
  std::size_t sorted = std::min<std::size_t>(256, kept_.size());
  while (true) {
    sort_first(sorted);
    double mass = 0.0;
    for (std::size_t i = 0; i < sorted; ++i) {
      mass += weight(kept_[i]);
      if (mass > p * total_) return i + 1;
    }
    if (sorted == kept_.size()) return sorted;
    sorted = std::min(sorted * 8, kept_.size());
  }
}

void Distribution::filter(const SamplingParams& params) {
  std::size_t count = kept_.size();
  if (params.top_k > 0) count = std::min(count, static_cast<std::size_t>(params.top_k));
  if (params.top_p < 1.0) count = std::min(count, top_p_count(params.top_p));
  if (count < kept_.size()) {
    sort_first(count);
    kept_.resize(count);
  }
  if (params.min_p > 0.0) {
    // The greatest weight is 1, so the threshold is min_p itself.
    std::erase_if(kept_, [&](std::int32_t token) { return weight(token) < params.min_p; });
  }
  std::sort(kept_.begin(), kept_.end());
  total_ = 0.0;
  for (const std::int32_t token : kept_) total_ += weight(token);
}

std::int32_t Distribution::draw(std::uint64_t seed, std::int64_t position) const {
  double best = -std::numeric_limits<double>::infinity();
  std::int32_t best_token = kept_.front();
  std::uint32_t quad = std::numeric_limits<std::uint32_t>::max();
  PhiloxBlock words{};
  for (const std::int32_t token : kept_) {
    if (static_cast<std::uint32_t>(token) / 4 != quad) {
      quad = static_cast<std::uint32_t>(token) / 4;
      words = sample_words(seed, position, quad);
    }
    const std::uint32_t word = words[static_cast<std::uint32_t>(token) % 4];
    const double scaled =
        (static_cast<double>(logits_[static_cast<std::size_t>(token)]) - greatest_) / temperature_;
    if (scaled + gumbel_bound(word) < best) continue;
    const double value = scaled + gumbel(word);
    if (value > best) {
      best = value;
      best_token = token;
    }
  }
  return best_token;
}

float Distribution::logprob(std::int32_t token) const {
  if (!std::binary_search(kept_.begin(), kept_.end(), token)) return kLogprobFloor;
  const double scaled =
      (static_cast<double>(logits_[static_cast<std::size_t>(token)]) - greatest_) / temperature_;
  return std::max(static_cast<float>(scaled - exact_log(total_)), kLogprobFloor);
}

// Log-softmax of a row: log-probabilities at temperature 1.
class LogSoftmax {
 public:
  explicit LogSoftmax(std::span<const float> logits) : logits_(logits) {
    greatest_ = *std::max_element(logits.begin(), logits.end());
    double total = 0.0;
    for (const float logit : logits) total += exact_exp(static_cast<double>(logit) - greatest_);
    log_total_ = exact_log(total);
  }
  [[nodiscard]] float logprob(std::int32_t token) const {
    return static_cast<float>(static_cast<double>(logits_[static_cast<std::size_t>(token)]) -
                              greatest_ - log_total_);
  }

 private:
  std::span<const float> logits_;
  double greatest_;
  double log_total_ = 0.0;
};

// The `count` greatest of `candidates` by logit, falling, with log-probabilities from `logprob`.
template <typename Logprob>
std::vector<RankedToken> rank(std::span<const float> logits, std::vector<std::int32_t> candidates,
                              std::size_t count, const Logprob& logprob) {
  count = std::min(count, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count),
                    candidates.end(), [&](std::int32_t a, std::int32_t b) {
                      const float x = logits[static_cast<std::size_t>(a)];
                      const float y = logits[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  std::vector<RankedToken> ranked;
  for (std::size_t i = 0; i < count; ++i) {
    ranked.push_back({TokenId{candidates[i]}, logprob(candidates[i])});
  }
  return ranked;
}

void add_raw_logprobs(const SampleArgs& args, Sampled& sampled) {
  const LogSoftmax softmax(args.logits);
  const auto logprob = [&](std::int32_t token) { return softmax.logprob(token); };
  sampled.chosen.logprob = logprob(value_of(sampled.chosen.token));
  std::vector<std::int32_t> all(args.logits.size());
  std::iota(all.begin(), all.end(), 0);
  sampled.top =
      rank(args.logits, std::move(all), static_cast<std::size_t>(*args.params.logprobs), logprob);
}

// The token of a row whose greatest logit is `greatest`, with the log-probabilities of the
// distribution it is drawn from.
Sampled choose(const SampleArgs& args, std::span<const float> logits, std::int32_t greatest) {
  const bool greedy = args.params.temperature < kGreedyBelow;
  const bool lists_processed =
      args.params.logprobs.has_value() && args.logprobs_mode == LogprobsMode::kProcessed;
  Sampled sampled;
  sampled.chosen.token = TokenId{greatest};
  if (greedy && !lists_processed) return sampled;

  Distribution distribution(logits, logits[static_cast<std::size_t>(greatest)],
                            greedy ? 1.0 : args.params.temperature);
  if (!greedy) {
    distribution.filter(args.params);
    sampled.chosen.token = TokenId{distribution.draw(args.seed, args.position)};
  }
  if (!lists_processed) return sampled;
  const auto logprob = [&](std::int32_t id) { return distribution.logprob(id); };
  sampled.chosen.logprob = logprob(value_of(sampled.chosen.token));
  sampled.top =
      rank(logits, distribution.kept(), static_cast<std::size_t>(*args.params.logprobs), logprob);
  return sampled;
}

}  // namespace

Result<Sampled> sample(const SampleArgs& args) {
  std::vector<float> changed;
  std::span<const float> logits = args.logits;
  if (!needs_no_adjustment(args)) {
    changed = adjusted_logits(args);
    logits = changed;
  }
  const std::int32_t greatest = argmax(logits);
  if (greatest < 0) return fail(ErrorCode::kDevice, "the logits of a row are not numbers");

  Sampled sampled = choose(args, logits, greatest);
  if (args.params.logprobs.has_value() && args.logprobs_mode == LogprobsMode::kRaw) {
    add_raw_logprobs(args, sampled);
  }
  return sampled;
}

}  // namespace deepinfer::engine
