// The noise of sampling: Philox's published vectors, the Gumbel distribution, exp and log.
#include "engine/sampling/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/sampling/exact_math.h"

namespace deepinfer::engine {
namespace {

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10 rounds).
TEST(Philox, GivesThePublishedVectors) {
  const PhiloxBlock zeros = philox(0, {0, 0, 0, 0});
  EXPECT_EQ(zeros, (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const PhiloxBlock ones =
      philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff});
  EXPECT_EQ(ones, (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  const PhiloxBlock pi =
      philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344});
  EXPECT_EQ(pi, (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Gumbel, IsNeverAboveItsBound) {
  for (std::uint32_t i = 0; i < 200000; ++i) {
    const std::uint32_t word = i * 2654435761U;
    ASSERT_LE(gumbel(word), gumbel_bound(word)) << word;
  }
  for (const std::uint32_t word : {0U, 1U, 0x7fffffffU, 0x80000000U, 0xfffffffeU, 0xffffffffU}) {
    EXPECT_TRUE(std::isfinite(gumbel(word)));
    EXPECT_LE(gumbel(word), gumbel_bound(word));
  }
}

// Mean 0.5772 (Euler), variance pi^2 / 6.
TEST(Gumbel, HasTheMomentsOfItsDistribution) {
  constexpr int kDraws = 200000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = gumbel(sample_words(7, i, 3)[static_cast<std::size_t>(i % 4)]);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5772, 0.01);
  EXPECT_NEAR(squares / kDraws - mean * mean, 1.6449, 0.03);
}

TEST(ExactMath, IsWithinAFewUlpOfTheLibrary) {
  for (int i = 0; i < 3780; ++i) {
    const double x = -700 + 0.37 * i;
    EXPECT_NEAR(exact_exp(x) / std::exp(x), 1.0, 1e-14) << x;
  }
  for (int exponent = -300; exponent < 300; ++exponent) {
    const double x = 1.7 * std::pow(10.0, exponent);
    EXPECT_NEAR(exact_log(x), std::log(x), 1e-14 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  EXPECT_EQ(exact_exp(0.0), 1.0);
  EXPECT_EQ(exact_log(1.0), 0.0);
  EXPECT_EQ(exact_exp(-1e9), 0.0);
}

// The value in docs/reference/sampling.md: users recompute it.
TEST(DeriveSeed, DiffersByEveryPartAndNeverChanges) {
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t job : {0ULL, 1ULL}) {
    for (const char* id : {"", "a", "b", "ab"}) {
      for (const std::int64_t choice : {0, 1}) seeds.insert(derive_seed(job, id, choice));
    }
  }
  EXPECT_EQ(seeds.size(), 16U);
  EXPECT_EQ(derive_seed(0, "request-1", 0), derive_seed(0, "request-1", 0));
}

}  // namespace
}  // namespace deepinfer::engine
