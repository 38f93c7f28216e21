// The sampler against a brute-force model of docs/reference/sampling.md, and its edge cases.
#include "engine/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = normal(generator);
  return logits;
}

TokenId choose(const std::vector<float>& logits, const SamplingParams& params, std::uint64_t seed,
               std::int64_t position = 0) {
  const auto sampled =
      sample({.logits = logits, .params = params, .seed = seed, .position = position});
  EXPECT_TRUE(sampled.has_value());
  return sampled->chosen.token;
}

// What may be drawn, with its probability: one softmax, the three filters, renormalised.
std::map<std::int32_t, double> brute_force(const std::vector<float>& logits,
                                           const SamplingParams& params) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  std::vector<double> p(logits.size());
  double total = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = std::exp(static_cast<double>(logits[i]) / params.temperature);
    total += p[i];
  }
  std::map<std::int32_t, double> kept;
  const double greatest = p[static_cast<std::size_t>(order[0])];
  double mass = 0;
  double kept_mass = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double weight = p[static_cast<std::size_t>(order[rank])];
    const bool in_top_p = mass / total <= params.top_p;
    const bool in_top_k = params.top_k == 0 || rank < static_cast<std::size_t>(params.top_k);
    const bool in_min_p = weight >= params.min_p * greatest;
    mass += weight;
    if (!in_top_p || !in_top_k || !in_min_p) continue;
    kept[order[rank]] = weight;
    kept_mass += weight;
  }
  for (auto& item : kept) item.second /= kept_mass;
  return kept;
}

struct Filters {
  const char* name;
  double temperature;
  double top_p;
  std::int64_t top_k;
  double min_p;
};

class SamplerFilters : public testing::TestWithParam<Filters> {};

TEST_P(SamplerFilters, DrawFromTheBruteForceDistribution) {
  SamplingParams params;
  params.temperature = GetParam().temperature;
  params.top_p = GetParam().top_p;
  params.top_k = GetParam().top_k;
  params.min_p = GetParam().min_p;
  const std::vector<float> logits = random_logits(40, 11);
  const auto expected = brute_force(logits, params);
  constexpr int kDraws = 40000;

  std::map<std::int32_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[value_of(choose(logits, params, 5, i))];

  double chi_square = 0;
  for (const auto& item : counts) ASSERT_EQ(expected.count(item.first), 1U) << item.first;
  for (const auto& [token, probability] : expected) {
    const double want = probability * kDraws;
    const double gap = counts[token] - want;
    chi_square += gap * gap / want;
  }
  // Mean k - 1, deviation sqrt(2 (k - 1)): five deviations, at a fixed seed.
  const double freedom = static_cast<double>(expected.size()) - 1.0;
  EXPECT_LE(chi_square, freedom + 5.0 * std::sqrt(2.0 * freedom) + 1.0);
}

INSTANTIATE_TEST_SUITE_P(
    All, SamplerFilters,
    testing::Values(Filters{"none", 1.0, 1.0, 0, 0.0}, Filters{"hot", 2.0, 1.0, 0, 0.0},
                    Filters{"top_p", 1.0, 0.9, 0, 0.0}, Filters{"top_k", 1.5, 1.0, 5, 0.0},
                    Filters{"min_p", 1.0, 1.0, 0, 0.1}, Filters{"all", 1.3, 0.95, 12, 0.02},
                    Filters{"tiny_top_p", 1.0, 1e-9, 0, 0.0}),
    [](const testing::TestParamInfo<Filters>& test) { return test.param.name; });

TEST(Sampler, TemperatureZeroTakesTheLowestIdOfTheGreatest) {
  SamplingParams params;
  params.temperature = 0;

  EXPECT_EQ(choose({1.0F, 5.0F, 5.0F, 2.0F}, params, 1), TokenId{1});
}

TEST(Sampler, ATieAtTheEdgeOfTopKGoesToTheLowerId) {
  SamplingParams params;
  params.top_k = 2;
  for (int i = 0; i < 200; ++i) {
    EXPECT_LE(value_of(choose({3.0F, 3.0F, 3.0F, 3.0F}, params, 9, i)), 1);
  }
}

TEST(Sampler, DependsOnSeedAndPositionAlone) {
  const std::vector<float> logits = random_logits(1000, 3);
  SamplingParams params;
  int differences = 0;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(choose(logits, params, 77, i), choose(logits, params, 77, i));
    if (choose(logits, params, 77, i) != choose(logits, params, 78, i)) ++differences;
  }
  EXPECT_GT(differences, 25);
}

TEST(Sampler, MinTokensMasksTheEndTokens) {
  SamplingParams params;
  params.temperature = 0;
  params.min_tokens = 2;
  const std::vector<float> logits = {0.0F, 9.0F, 1.0F};
  const std::vector<std::int32_t> ends = {1};
  const auto at = [&](std::int64_t position) {
    return sample({.logits = logits, .params = params, .position = position, .end_tokens = ends})
        ->chosen.token;
  };
  EXPECT_EQ(at(0), TokenId{2});
  EXPECT_EQ(at(1), TokenId{2});
  EXPECT_EQ(at(2), TokenId{1});
}

TEST(Sampler, BiasAndPenaltiesChangeTheLogitsInTheirOrder) {
  const std::vector<float> logits = {2.0F, 1.9F, -1.0F, 0.0F};
  const std::vector<TokenId> prompt = {TokenId{0}};
  const std::vector<TokenId> answer = {TokenId{1}, TokenId{1}};
  const auto greedy = [&](const SamplingParams& params) {
    return sample({.logits = logits,
                   .params = params,
                   .position = 2,
                   .prompt = prompt,
                   .answer = answer})
        ->chosen.token;
  };
  SamplingParams params;
  params.temperature = 0;
  EXPECT_EQ(greedy(params), TokenId{0});
  params.repetition_penalty = 4.0;  // over prompt and answer: 0.5 and 0.475
  EXPECT_EQ(greedy(params), TokenId{0});
  params.logit_bias = {{3, 0.6}};  // 0.6 beats 0.5
  EXPECT_EQ(greedy(params), TokenId{3});
  params = SamplingParams{};
  params.temperature = 0;
  params.logit_bias = {{1, 1.0}};  // 2.9
  EXPECT_EQ(greedy(params), TokenId{1});
  params.frequency_penalty = 0.25;  // twice in the answer: 2.4
  EXPECT_EQ(greedy(params), TokenId{1});
  params.presence_penalty = 0.5;  // 1.9
  EXPECT_EQ(greedy(params), TokenId{0});
}

TEST(Sampler, RawLogprobsAreTheLogSoftmaxOfTheUntouchedLogits) {
  const std::vector<float> logits = {0.0F, 1.0F, 3.0F, 2.0F};
  SamplingParams params;
  params.temperature = 0.5;
  params.logprobs = 3;
  params.logit_bias = {{0, 50.0}};  // drawn from the biased ones, reported from the raw ones

  const auto sampled = sample({.logits = logits, .params = params});

  ASSERT_OK(sampled);
  const double total = std::exp(0.0) + std::exp(1.0) + std::exp(3.0) + std::exp(2.0);
  EXPECT_EQ(sampled->chosen.token, TokenId{0});
  EXPECT_NEAR(sampled->chosen.logprob, -std::log(total), 1e-6);
  ASSERT_EQ(sampled->top.size(), 3U);
  EXPECT_EQ(sampled->top[0].token, TokenId{2});
  EXPECT_NEAR(sampled->top[0].logprob, 3.0 - std::log(total), 1e-6);
  EXPECT_EQ(sampled->top[2].token, TokenId{1});
}

TEST(Sampler, ProcessedLogprobsAreThoseOfTheDistributionDrawnFrom) {
  const std::vector<float> logits = {0.0F, 1.0F, 3.0F, 2.0F};
  SamplingParams params;
  params.top_k = 2;
  params.logprobs = 4;

  const auto sampled =
      sample({.logits = logits, .params = params, .logprobs_mode = LogprobsMode::kProcessed});

  ASSERT_OK(sampled);
  const double total = std::exp(3.0) + std::exp(2.0);
  ASSERT_EQ(sampled->top.size(), 2U);  // what cannot be drawn is not listed
  EXPECT_NEAR(sampled->top[0].logprob, 3.0 - std::log(total), 1e-6);
  EXPECT_NEAR(sampled->top[1].logprob, 2.0 - std::log(total), 1e-6);
}

TEST(Sampler, RefusesRowsThatAreNotNumbers) {
  const SamplingParams params;
  for (const std::vector<float>& logits :
       {std::vector<float>{0.0F, NAN}, std::vector<float>{kInfinity, 0.0F},
        std::vector<float>{-kInfinity, -kInfinity}}) {
    EXPECT_FAILS(sample({.logits = logits, .params = params}), ErrorCode::kDevice);
  }
}

}  // namespace
}  // namespace deepinfer::engine
