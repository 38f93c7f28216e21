// The router: a case worked by hand, ties, fast path against the reference, a row alone, limits.
#include "kernels/moe/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/kernels/kernel_data.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

struct Routes {
  Routes(std::int64_t rows, std::int64_t top)
      : ids(static_cast<std::size_t>(rows * top)), weights(ids.size()) {}

  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

struct Batch {
  std::int64_t experts;
  std::int64_t top;
  std::vector<float> logits;
  std::vector<float> bias;

  [[nodiscard]] std::int64_t rows() const {
    return static_cast<std::int64_t>(logits.size()) / experts;
  }
  RouteArgs args(std::int64_t first, std::int64_t count, Routes& to) const {
    return {.logits = View<const float, 2>(logits.data() + first * experts, count, experts),
            .bias = View<const float, 1>(bias.data(), experts),
            .ids = View<std::int32_t, 2>(to.ids.data() + first * top, count, top),
            .weights = View<float, 2>(to.weights.data() + first * top, count, top)};
  }
};

Batch released(std::int64_t rows) {
  return {.experts = 384,
          .top = 6,
          .logits = test::random_floats(rows * 384, 25.0F, 41),
          .bias = test::random_floats(384, 1.0F, 42)};
}

TEST(Route, ChoosesByScoreAndBiasButWeighsByScore) {
  // sqrt(softplus(30)) = sqrt(30) is linear; the bias lifts expert 1 above expert 3.
  const Batch batch{.experts = 4, .top = 2, .logits = {30, 0, 1, 1}, .bias = {0, 9, 0, 0}};
  Workers workers(1);
  for (const bool is_fast : {false, true}) {
    Routes routes(1, 2);
    const RouteArgs args = batch.args(0, 1, routes);

    ASSERT_OK(is_fast ? route_cpu(args, workers) : route_reference(args));

    EXPECT_EQ(routes.ids, (std::vector<std::int32_t>{1, 0}));
    const float first = std::sqrt(std::log(2.0F));
    const float second = std::sqrt(30.0F);
    EXPECT_NEAR(routes.weights[0], first / (first + second) * 1.5F, 2e-6F);
    EXPECT_NEAR(routes.weights[1], second / (first + second) * 1.5F, 2e-6F);
  }
}

TEST(Route, GivesTiesToTheLowerIdAndNanTheLastPlace) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Batch batch{.experts = 5, .top = 3, .logits = {nan, 2, 5, 2, 2}, .bias = {0, 0, 0, 0, 0}};
  Workers workers(1);
  Routes routes(1, 3);

  ASSERT_OK(route_cpu(batch.args(0, 1, routes), workers));

  EXPECT_EQ(routes.ids, (std::vector<std::int32_t>{2, 1, 3}));
}

TEST(RouteCpu, IsNearTheReferenceAndGivesARowTheSameBitsAloneAndOnTwoThreads) {
  const Batch batch = released(9);
  Routes expected(9, 6);
  Routes together(9, 6);
  Routes alone(9, 6);
  Workers one(1);
  Workers two(2);

  ASSERT_OK(route_reference(batch.args(0, 9, expected)));
  ASSERT_OK(route_cpu(batch.args(0, 9, together), two));
  for (std::int64_t row = 0; row < 9; ++row) ASSERT_OK(route_cpu(batch.args(row, 1, alone), one));

  EXPECT_EQ(together.ids, expected.ids);
  test::expect_close(together.weights, expected.weights, {.absolute = 2e-6F});
  EXPECT_EQ(together.ids, alone.ids);
  EXPECT_TRUE(test::same_bits(together.weights, alone.weights));
}

TEST(RouteLimits, RefuseMoreExpertsThanThereAre) {
  const Batch batch{.experts = 4, .top = 5, .logits = {1, 2, 3, 4}, .bias = {0, 0, 0, 0}};
  Routes routes(1, 5);
  Workers workers(1);
  RouteArgs short_bias = batch.args(0, 1, routes);
  short_bias.bias = View<const float, 1>(batch.bias.data(), 3);

  EXPECT_FAILS(route_cpu(batch.args(0, 1, routes), workers), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(route_reference(batch.args(0, 1, routes)), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(route_cpu(short_bias, workers), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::kernels
