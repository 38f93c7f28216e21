// How stored weights read: the published samples of the released files, NaN, extreme scales, slices.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/gemm/linear.h"
#include "tests/kernels/gemm/linear_cases.h"
#include "tests/kernels/highway_targets.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

// Column k of W as the fast path reads it: x is the k-th unit vector, in one row and among five.
std::vector<float> read_by_unit_vectors(const WeightMatrix& weight, std::int64_t rows) {
  Workers workers(1);
  std::vector<float> values;
  for (std::int64_t k = 0; k < weight.cols; ++k) {
    std::vector<float> x(static_cast<std::size_t>(rows * weight.cols));
    for (std::int64_t r = 0; r < rows; ++r) x[static_cast<std::size_t>(r * weight.cols + k)] = 1.0F;
    std::vector<float> y;
    EXPECT_TRUE(linear_cpu(test::make_args(x, weight, y), workers).has_value());
    values.push_back(y.back());
  }
  return values;
}

void expect_sample(const WeightMatrix& weight, const std::vector<float>& expected) {
  std::vector<float> row(static_cast<std::size_t>(weight.cols));
  unpack_weight_row(weight, 0, row.data());
  row.resize(expected.size());
  EXPECT_EQ(row, expected);
  deepinfer::test::for_each_highway_target([&](std::int64_t target) {
    for (const std::int64_t rows : {1, 5}) {
      std::vector<float> read = read_by_unit_vectors(weight, rows);
      read.resize(expected.size());
      EXPECT_EQ(read, expected) << hwy::TargetName(target);
    }
  });
}

TEST(StoredWeights, ReadThePublishedFp8Sample) {
  std::vector<std::uint8_t> codes = {0xd8, 0x71, 0xf2, 0x79, 0x70, 0x69, 0xf0, 0xe5};
  codes.resize(32);
  const std::uint8_t scale = 0x73;

  expect_sample({WeightFormat::kFp8Block32, codes.data(), &scale, 1, 32},
                {-0.00390625F, 0.03515625F, -0.0390625F, 0.0703125F, 0.03125F, 0.017578125F,
                 -0.03125F, -0.0126953125F});
}

TEST(StoredWeights, ReadThePublishedFp4Sample) {
  std::vector<std::uint8_t> pairs = {0xa0, 0xa8, 0xec, 0x4a, 0xad, 0xaf, 0x42, 0xaa};
  pairs.resize(16);
  const std::uint8_t scale = 0x78;

  expect_sample({WeightFormat::kFp4Group32, pairs.data(), &scale, 1, 32},
                {0.0F, -0.0078125F, 0.0F, -0.0078125F, -0.015625F, -0.03125F, -0.0078125F,
                 0.015625F, -0.0234375F, -0.0078125F, -0.046875F, -0.0078125F, 0.0078125F,
                 0.015625F, -0.0078125F, -0.0078125F});
}

TEST(StoredWeights, ReadEveryFp8CodeAtEveryUsefulScale) {
  for (const int scale : {60, 119, 127, 180, 240}) {
    std::vector<std::uint8_t> codes;
    for (int code = 0; code < 256; ++code) {
      const auto byte = static_cast<std::uint8_t>(code);
      codes.push_back((byte & 0x7fU) == kE4m3Nan ? std::uint8_t{0} : byte);
    }
    const std::vector<std::uint8_t> scales(8, static_cast<std::uint8_t>(scale));
    const WeightMatrix weight{WeightFormat::kFp8Block32, codes.data(), scales.data(), 1, 256};
    std::vector<float> expected(256);
    unpack_weight_row(weight, 0, expected.data());

    for (const std::int64_t rows : {1, 2}) {
      const std::vector<float> read = read_by_unit_vectors(weight, rows);
      EXPECT_EQ(read, expected) << scale;
    }
  }
}

TEST(StoredWeights, ANanCodeOrScaleMakesItsOutputNanAndNoOther) {
  Workers workers(1);
  for (const std::int64_t rows : {1, 3}) {
    const std::vector<float> x(static_cast<std::size_t>(rows * 80), 0.0F);  // 0 x NaN is NaN
    for (const std::size_t place : {0U, 63U, 64U, 79U}) {
      test::Weights fp8 = test::random_weights(WeightFormat::kFp8Block32, 3, 80, 2);
      fp8.data[80 + place] = place % 2 == 0 ? 0x7f : 0xff;
      deepinfer::test::for_each_highway_target([&](std::int64_t target) {
        std::vector<float> y;
        ASSERT_OK(linear_cpu(test::make_args(x, fp8.matrix, y), workers));
        EXPECT_FALSE(std::isnan(y[0]));
        EXPECT_TRUE(std::isnan(y[1])) << hwy::TargetName(target) << " " << place;
        EXPECT_FALSE(std::isnan(y[2]));
      });
    }
  }
  test::Weights fp4 = test::random_weights(WeightFormat::kFp4Group32, 2, 64, 2);
  fp4.scales[3] = kE8m0Nan;
  const std::vector<float> x(64, 1.0F);
  std::vector<float> y;
  ASSERT_OK(linear_cpu(test::make_args(x, fp4.matrix, y), workers));
  EXPECT_FALSE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
}

TEST(StoredWeights, ASliceIsTheSameRowsOfTheWholeMatrix) {
  for (const WeightFormat format : test::kWeightFormats) {
    const test::Weights weights = test::random_weights(format, 96, 64, 3);
    const WeightMatrix slice = slice_outputs(weights.matrix, 32, 40);
    EXPECT_EQ(slice.outputs, 40);
    std::vector<float> whole(64);
    std::vector<float> part(64);
    for (std::int64_t n = 0; n < 40; ++n) {
      unpack_weight_row(weights.matrix, 32 + n, whole.data());
      unpack_weight_row(slice, n, part.data());
      EXPECT_EQ(part, whole);
    }
  }
}

}  // namespace
}  // namespace deepinfer::kernels
