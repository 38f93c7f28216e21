// linear_cpu: the bits of its contract on every instruction set with a fused multiply-add, whatever the
// number of rows and threads; the error bound against the reference; limits.
#include "kernels/gemm/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/gemm/linear_cases.h"
#include "tests/kernels/highway_targets.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

struct Size {
  std::int64_t outputs;
  std::int64_t cols;
};

// One output; less than a tile and the shortest row; a ragged tile, rows that end in half a group;
// scale blocks that end early, more than one block of columns; a real row.
constexpr Size kSizes[] = {{1, 32}, {3, 16}, {13, 48}, {37, 1040}, {12, 5120}};

bool fits(WeightFormat format, Size size) {
  return format != WeightFormat::kFp4Group32 || size.cols % 32 == 0;
}

class Linear : public testing::TestWithParam<WeightFormat> {};

// y [rows, outputs] as the contract spells it out.
std::vector<float> contract_linear(const std::vector<float>& x, const WeightMatrix& weight) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / weight.cols;
  std::vector<float> y(static_cast<std::size_t>(rows * weight.outputs));
  std::vector<float> w(static_cast<std::size_t>(weight.cols));
  for (std::int64_t n = 0; n < weight.outputs; ++n) {
    unpack_weight_row(weight, n, w.data());
    for (std::int64_t r = 0; r < rows; ++r) {
      y[static_cast<std::size_t>(r * weight.outputs + n)] =
          test::contract_dot(x.data() + r * weight.cols, w.data(), weight.cols);
    }
  }
  return y;
}

TEST_P(Linear, HasTheBitsOfTheContractForEveryNumberOfRowsOnEveryFusedInstructionSet) {
  Workers workers(1);
  for (const Size size : kSizes) {
    if (!fits(GetParam(), size)) continue;
    const test::Weights weights = test::random_weights(GetParam(), size.outputs, size.cols, 5);
    for (const std::int64_t rows : {1, 2, 3, 5, 7, 8, 16, 33}) {
      const auto x = test::normal_values(static_cast<std::size_t>(rows * size.cols), 9);
      const std::vector<float> expected = contract_linear(x, weights.matrix);
      deepinfer::test::for_each_highway_target([&](std::int64_t target) {
        if (!deepinfer::test::has_fused_multiply_add(target)) return;
        std::vector<float> y;
        ASSERT_OK(linear_cpu(test::make_args(x, weights.matrix, y), workers));
        EXPECT_EQ(y, expected) << hwy::TargetName(target) << " " << size.outputs << " x "
                               << size.cols << ", rows " << rows;
      });
    }
  }
}

// The same product with every factor's magnitude: what the error bound is a part of.
std::vector<float> magnitudes(const std::vector<float>& x, const WeightMatrix& weight) {
  std::vector<float> w(static_cast<std::size_t>(weight.outputs * weight.cols));
  for (std::int64_t n = 0; n < weight.outputs; ++n) {
    unpack_weight_row(weight, n, w.data() + n * weight.cols);
  }
  std::vector<float> x_magnitudes = x;
  for (float& value : w) value = std::abs(value);
  for (float& value : x_magnitudes) value = std::abs(value);
  const WeightMatrix dense{WeightFormat::kF32, w.data(), nullptr, weight.outputs, weight.cols};
  std::vector<float> y;
  EXPECT_TRUE(linear_reference(test::make_args(x_magnitudes, dense, y)).has_value());
  return y;
}

TEST_P(Linear, StaysWithinTheErrorBoundOnEveryInstructionSet) {
  Workers workers(1);
  for (const Size size : kSizes) {
    if (!fits(GetParam(), size)) continue;
    const test::Weights weights = test::random_weights(GetParam(), size.outputs, size.cols, 6);
    const auto x = test::normal_values(static_cast<std::size_t>(3 * size.cols), 10);
    const std::vector<float> sum_abs = magnitudes(x, weights.matrix);
    std::vector<float> expected;
    ASSERT_OK(linear_reference(test::make_args(x, weights.matrix, expected)));
    deepinfer::test::for_each_highway_target([&](std::int64_t target) {
      std::vector<float> y;
      ASSERT_OK(linear_cpu(test::make_args(x, weights.matrix, y), workers));
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], expected[i], 5e-7 * sum_abs[i]) << hwy::TargetName(target);
      }
    });
  }
}

TEST_P(Linear, HasTheSameBitsForOneThreadAndForTwo) {
  Workers one(1);
  Workers two(2);
  const test::Weights weights = test::random_weights(GetParam(), 101, 160, 7);
  for (const std::int64_t rows : {1, 6}) {
    const auto x = test::normal_values(static_cast<std::size_t>(rows * 160), 11);
    std::vector<float> first;
    std::vector<float> second;

    ASSERT_OK(linear_cpu(test::make_args(x, weights.matrix, first), one));
    ASSERT_OK(linear_cpu(test::make_args(x, weights.matrix, second), two));

    EXPECT_EQ(first, second);
  }
}

TEST_P(Linear, WritesBf16RoundedOnceAndKeepsToTheStride) {
  Workers workers(2);
  const test::Weights weights = test::random_weights(GetParam(), 10, 64, 8);
  for (const std::int64_t rows : {1, 4}) {
    const auto x = test::normal_values(static_cast<std::size_t>(rows * 64), 12);
    std::vector<float> wide;
    LinearArgs args = test::make_args(x, weights.matrix, wide);
    ASSERT_OK(linear_cpu(args, workers));
    std::vector<Bf16> narrow(static_cast<std::size_t>(rows * 12), Bf16{0x1234});
    args.y_f32 = nullptr;
    args.y_bf16 = narrow.data();
    args.y_stride = 12;

    ASSERT_OK(linear_cpu(args, workers));

    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      for (std::size_t n = 0; n < 12; ++n) {
        const std::uint16_t expected = n < 10 ? to_bf16(wide[r * 10 + n]).bits : 0x1234;
        EXPECT_EQ(narrow[r * 12 + n].bits, expected);
      }
    }
  }
}

TEST_P(Linear, OfNoRowsWritesNothing) {
  Workers workers(1);
  const test::Weights weights = test::random_weights(GetParam(), 4, 32, 8);
  float y = 7.0F;
  const LinearArgs args{
      .x = View<const float, 2>(nullptr, 0, 32), .weight = weights.matrix, .y_f32 = &y};

  ASSERT_OK(linear_cpu(args, workers));

  EXPECT_EQ(y, 7.0F);
}

INSTANTIATE_TEST_SUITE_P(Formats, Linear, testing::ValuesIn(test::kWeightFormats),
                         [](const auto& test_case) { return test::format_name(test_case.param); });

TEST(LinearLimits, RefuseBeforeAnythingIsRead) {
  Workers workers(1);
  const test::Weights fp8 = test::random_weights(WeightFormat::kFp8Block32, 4, 64, 1);
  const test::Weights bf16 = test::random_weights(WeightFormat::kBf16, 4, 64, 1);
  const std::vector<float> x(64);
  std::vector<float> y;
  Bf16 narrow[4];
  const LinearArgs good = test::make_args(x, fp8.matrix, y);
  std::vector<LinearArgs> broken(9, good);
  broken[0].weight.outputs = 0;
  broken[1].weight.cols = 24;
  broken[2].weight = {WeightFormat::kFp4Group32, fp8.data.data(), fp8.scales.data(), 4, 48};
  broken[2].x = View<const float, 2>(x.data(), 1, 48);
  broken[3].weight.scales = nullptr;
  broken[4].weight = bf16.matrix;
  broken[4].weight.scales = fp8.scales.data();
  broken[5].weight.data = nullptr;
  broken[6].x = View<const float, 2>(x.data(), 1, 48);
  broken[7].y_bf16 = narrow;
  broken[8].y_stride = 3;
  std::vector<LinearArgs> more(2, good);
  more[0].x = View<const float, 2>(x.data(), -1, 64);
  more[1].y_f32 = nullptr;
  broken.insert(broken.end(), more.begin(), more.end());

  ASSERT_OK(linear_cpu(good, workers));
  for (const LinearArgs& args : broken) {
    EXPECT_FAILS(linear_cpu(args, workers), ErrorCode::kInvalidArgument);
    EXPECT_FAILS(linear_reference(args), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::kernels
