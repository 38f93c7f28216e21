// rope: the check values of the specification; both entry points give the same bits on every
// instruction set; rows alone and in a batch; limits.
#include "kernels/rope/rope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/kernels/highway_targets.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

struct Case {
  std::int64_t rows;
  std::int64_t heads;
  std::int64_t n;
  std::int64_t dims;
};

struct Data {
  std::vector<Bf16> x;
  std::vector<float> cos;
  std::vector<float> sin;
};

Data random_data(const Case& size) {
  std::mt19937 generator(17);
  std::normal_distribution<float> normal(0.0F, 2.0F);
  Data data;
  data.x.resize(static_cast<std::size_t>(size.rows * size.heads * size.n));
  data.cos.resize(static_cast<std::size_t>(size.rows * size.dims / 2));
  data.sin.resize(data.cos.size());
  for (Bf16& value : data.x) value = to_bf16(normal(generator));
  for (float& value : data.cos) value = normal(generator);
  for (float& value : data.sin) value = normal(generator);
  return data;
}

RotateArgs make_args(Data& data, const Case& size, RopeDirection direction) {
  return {View<Bf16, 3>(data.x.data(), size.rows, size.heads, size.n),
          View<const float, 2>(data.cos.data(), size.rows, size.dims / 2),
          View<const float, 2>(data.sin.data(), size.rows, size.dims / 2), direction};
}

std::vector<std::uint16_t> bits_of(const std::vector<Bf16>& values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const Bf16 value : values) bits.push_back(value.bits);
  return bits;
}

TEST(RopeFrequencies, HaveTheCheckValuesOfTheSpecification) {
  const std::vector<float> frequencies =
      rope_frequencies({.dims = 64, .base = 160000, .yarn = YarnScaling{}});

  const std::vector<std::pair<std::size_t, float>> checks = {
      {0, 1.0F},           {8, 0.05F},          {15, 0.0036355385F}, {16, 0.002265625F},
      {20, 2.9697779e-4F}, {24, 1.9531253e-5F}, {25, 5.3723124e-6F}, {31, 5.6805294e-7F}};
  for (const auto& [i, value] : checks) EXPECT_NEAR(frequencies[i] / value, 1.0F, 2e-7F) << i;
}

TEST(Rotate, FastPathHasTheReferenceBitsOnEveryInstructionSet) {
  Workers workers(2);
  // One pair; pairs that fill no vector; the released head; enough rows for both threads.
  for (const Case size :
       {Case{1, 1, 2, 2}, Case{3, 2, 40, 22}, Case{2, 3, 512, 64}, Case{33, 64, 64, 64}}) {
    for (const auto direction : {RopeDirection::kForward, RopeDirection::kInverse}) {
      Data reference = random_data(size);
      ASSERT_OK(rotate_reference(make_args(reference, size, direction)));
      deepinfer::test::for_each_highway_target([&](std::int64_t target) {
        Data fast = random_data(size);
        ASSERT_OK(rotate_cpu(make_args(fast, size, direction), workers));
        EXPECT_EQ(bits_of(fast.x), bits_of(reference.x)) << hwy::TargetName(target);
      });
    }
  }
}

TEST(Rotate, LeavesTheHeadAloneAndTurnsTheTailByAQuarter) {
  std::vector<Bf16> x = {to_bf16(5.0F), to_bf16(6.0F), to_bf16(1.0F), to_bf16(2.0F)};
  const float cos = 0.0F;
  const float sin = 1.0F;
  Workers workers(1);
  const RotateArgs args{View<Bf16, 3>(x.data(), 1, 1, 4), View<const float, 2>(&cos, 1, 1),
                        View<const float, 2>(&sin, 1, 1), RopeDirection::kForward};

  ASSERT_OK(rotate_cpu(args, workers));

  const float expected[] = {5.0F, 6.0F, -2.0F, 1.0F};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(to_float(x[i]), expected[i]);
}

TEST(Rotate, ARowAloneHasTheBitsItHasInABatch) {
  const Case size{5, 2, 64, 32};
  Workers workers(2);
  Data batch = random_data(size);
  ASSERT_OK(rotate_cpu(make_args(batch, size, RopeDirection::kForward), workers));
  for (std::int64_t row = 0; row < size.rows; ++row) {
    Data all = random_data(size);
    Bf16* x = all.x.data() + row * 128;
    const RotateArgs alone{
        View<Bf16, 3>(x, 1, 2, 64), View<const float, 2>(all.cos.data() + row * 16, 1, 16),
        View<const float, 2>(all.sin.data() + row * 16, 1, 16), RopeDirection::kForward};

    ASSERT_OK(rotate_cpu(alone, workers));

    for (std::int64_t i = 0; i < 128; ++i) {
      ASSERT_EQ(x[i].bits, batch.x[static_cast<std::size_t>(row * 128 + i)].bits);
    }
  }
}

TEST(Rotate, RefusesBrokenLimits) {
  Bf16 x[8] = {};
  const float table[8] = {};
  Workers workers(1);
  const auto check = [&](std::int64_t n, std::int64_t cos_rows, std::int64_t sin_pairs) {
    const RotateArgs args{View<Bf16, 3>(x, 1, 1, n), View<const float, 2>(table, cos_rows, 2),
                          View<const float, 2>(table, 1, sin_pairs), RopeDirection::kForward};
    EXPECT_EQ(rotate_cpu(args, workers).has_value(), rotate_reference(args).has_value());
    return rotate_limits(args);
  };

  EXPECT_TRUE(check(4, 1, 2).has_value());
  EXPECT_FAILS(check(3, 1, 2), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(check(4, 2, 2), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(check(4, 1, 1), ErrorCode::kInvalidArgument);
}

TEST(RopeTable, RefusesTablesOfAnotherShape) {
  const std::int64_t position = 3;
  const float frequency = 0.5F;
  float cos[2];
  float sin[2];
  const auto table = [&](std::int64_t cos_rows, std::int64_t sin_pairs) {
    return rope_table({View<const std::int64_t, 1>(&position, 1),
                       View<const float, 1>(&frequency, 1), View<float, 2>(cos, cos_rows, 1),
                       View<float, 2>(sin, 1, sin_pairs)});
  };

  EXPECT_TRUE(table(1, 1).has_value());
  EXPECT_FAILS(table(2, 1), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(table(1, 2), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::kernels
