// rms_norm_cpu: close to the reference, the same bits on every fused instruction set, alone and in a
// batch, in place; limits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "kernels/norm/rms_norm.h"
#include "tests/kernels/highway_targets.h"
#include "tests/kernels/norm/rms_norm_cases.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

std::vector<std::uint16_t> bits_of(const std::vector<Bf16>& values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const Bf16 value : values) bits.push_back(value.bits);
  return bits;
}

class RmsNormCpu : public testing::TestWithParam<test::Shape> {};

TEST_P(RmsNormCpu, IsWithinOneStepOfTheReferenceAndTheSameOnEveryFusedInstructionSet) {
  const test::Shape shape = GetParam();
  const std::vector<Bf16> x = test::random_values(shape.rows * shape.hidden, 1);
  const std::vector<Bf16> weight = test::random_values(shape.hidden, 2);
  std::vector<Bf16> expected(x.size());
  ASSERT_OK(rms_norm_reference(test::make_args(shape, x.data(), weight.data(), expected.data())));
  Workers workers(2);
  std::vector<std::uint16_t> first;
  deepinfer::test::for_each_highway_target([&](std::int64_t target) {
    std::vector<Bf16> y(x.size());
    ASSERT_OK(rms_norm_cpu(test::make_args(shape, x.data(), weight.data(), y.data()), workers));
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_LE(std::abs(y[i].bits - expected[i].bits), 1) << hwy::TargetName(target);
    }
    if (!deepinfer::test::has_fused_multiply_add(target)) return;
    if (first.empty()) first = bits_of(y);
    EXPECT_EQ(bits_of(y), first) << hwy::TargetName(target);
  });
}

TEST_P(RmsNormCpu, ARowAloneAndInPlaceHasTheBitsItHasInABatch) {
  const test::Shape shape = GetParam();
  const std::vector<Bf16> x = test::random_values(shape.rows * shape.hidden, 3);
  const std::vector<Bf16> weight = test::random_values(shape.hidden, 4);
  std::vector<Bf16> batch(x.size());
  Workers workers(2);
  ASSERT_OK(rms_norm_cpu(test::make_args(shape, x.data(), weight.data(), batch.data()), workers));

  std::vector<Bf16> alone = x;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    Bf16* at = alone.data() + row * shape.hidden;
    ASSERT_OK(rms_norm_cpu(test::make_args({1, shape.hidden}, at, weight.data(), at), workers));
  }

  EXPECT_EQ(bits_of(alone), bits_of(batch));
}

// The shortest row; half a chunk at the end; the real rows, more than one thread's worth.
INSTANTIATE_TEST_SUITE_P(Shapes, RmsNormCpu,
                         testing::Values(test::Shape{1, 8}, test::Shape{3, 24}, test::Shape{5, 512},
                                         test::Shape{9, 5120}));

TEST(RmsNormCpuLimits, RefuseBeforeAnythingIsRead) {
  alignas(16) Bf16 storage[16] = {};
  Workers workers(1);
  auto no_epsilon = test::make_args({1, 8}, storage, storage, storage);
  no_epsilon.epsilon = 0.0F;

  for (const auto& args : {test::make_args({1, 12}, storage, storage, storage),
                           test::make_args({1, 8}, storage + 1, storage, storage), no_epsilon}) {
    EXPECT_FAILS(rms_norm_cpu(args, workers), ErrorCode::kInvalidArgument);
  }
}

TEST(RmsNormCpuEdges, AZeroRowWithATinyEpsilonIsZero) {
  alignas(16) Bf16 x[16] = {};
  alignas(16) Bf16 weight[16] = {};
  for (Bf16& value : weight) value = to_bf16(3.0F);
  auto args = test::make_args({1, 16}, x, weight, x);
  args.epsilon = 1e-20F;
  Workers workers(1);

  ASSERT_OK(rms_norm_cpu(args, workers));

  for (const Bf16 value : x) EXPECT_EQ(to_float(value), 0.0F);
}

}  // namespace
}  // namespace deepinfer::kernels
