// quantize_activations and widen: both entry points give the same bits; limits; values that are not
// finite.
#include "kernels/quant/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/highway_targets.h"
#include "tests/kernels/quant/quant_cases.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

ActivationArgs make_args(const std::vector<Bf16>& x, std::vector<float>& y, std::int64_t rows) {
  const auto n = static_cast<std::int64_t>(x.size()) / rows;
  return {View<const Bf16, 2>(x.data(), rows, n), View<float, 2>(y.data(), rows, n)};
}

TEST(QuantizeActivations, FastPathHasTheReferenceBitsOnEveryInstructionSet) {
  Workers workers(2);
  for (const std::int64_t n : {32, 96, 5120}) {  // one group, an odd number of them, a real row
    const std::int64_t rows = 9;                 // 9 x 5120 is enough to use both threads
    const std::vector<Bf16> x = test::wide_values(rows * n, 7);
    std::vector<float> expected(x.size());
    ASSERT_OK(quantize_activations_reference(make_args(x, expected, rows)));
    deepinfer::test::for_each_highway_target([&](std::int64_t target) {
      std::vector<float> y(x.size());
      ASSERT_OK(quantize_activations_cpu(make_args(x, y, rows), workers));
      EXPECT_EQ(test::bits_of(y), test::bits_of(expected)) << hwy::TargetName(target);
    });
  }
}

TEST(QuantizeActivations, AGroupWithAValueThatIsNotFiniteIsNanAndItsNeighbourIsNot) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    std::vector<Bf16> x(64, to_bf16(1.0F));
    x[5] = to_bf16(bad);
    std::vector<float> reference(64);
    std::vector<float> fast(64);
    Workers workers(1);

    ASSERT_OK(quantize_activations_reference(make_args(x, reference, 1)));
    ASSERT_OK(quantize_activations_cpu(make_args(x, fast, 1), workers));

    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(std::isnan(reference[i]), i < 32);
      EXPECT_EQ(std::isnan(fast[i]), i < 32);
    }
  }
}

TEST(QuantizeActivations, RefusesBrokenLimits) {
  const Bf16 x[64] = {};
  float y[64] = {};
  Workers workers(1);
  const auto refused = [&](std::int64_t rows, std::int64_t n, std::int64_t y_n) {
    const ActivationArgs args{View<const Bf16, 2>(x, rows, n), View<float, 2>(y, rows, y_n)};
    const Status status = quantize_activations_cpu(args, workers);
    return !status && status.error().code == ErrorCode::kInvalidArgument &&
           !quantize_activations_reference(args);
  };

  EXPECT_TRUE(refused(1, 48, 48));
  EXPECT_TRUE(refused(1, 0, 0));
  EXPECT_TRUE(refused(-1, 32, 32));
  EXPECT_TRUE(refused(1, 64, 32));
  EXPECT_FALSE(refused(0, 32, 32));
}

TEST(Widen, GivesEveryValueAndRefusesOtherShapes) {
  Workers workers(2);
  const std::vector<Bf16> x = test::wide_values(std::int64_t{21} * 1999, 3);  // an odd width
  std::vector<float> y(x.size());

  ASSERT_OK(widen_cpu(make_args(x, y, 21), workers));

  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], to_float(x[i]));
  EXPECT_FALSE(
      widen_cpu({View<const Bf16, 2>(x.data(), 2, 8), View<float, 2>(y.data(), 2, 7)}, workers));
}

}  // namespace
}  // namespace deepinfer::kernels
