// rms_norm_reference: a case worked by hand, and the limits it refuses.
#include "kernels/norm/rms_norm.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/kernels/norm/rms_norm_cases.h"

namespace deepinfer::kernels {
namespace {

TEST(RmsNormReference, DividesByTheRootMeanSquareAndScales) {
  alignas(16) Bf16 x[8];
  alignas(16) Bf16 weight[8];
  alignas(16) Bf16 y[8];
  for (int i = 0; i < 8; ++i) {
    x[i] = to_bf16(i % 2 == 0 ? 4.0F : -4.0F);  // root mean square 4
    weight[i] = to_bf16(0.5F);
  }

  ASSERT_TRUE(rms_norm_reference(test::make_args({1, 8}, x, weight, y)).has_value());

  for (int i = 0; i < 8; ++i) EXPECT_EQ(to_float(y[i]), i % 2 == 0 ? 0.5F : -0.5F);
}

TEST(RmsNormLimits, RefuseBeforeAnythingIsRead) {
  alignas(16) Bf16 storage[16] = {};
  const auto ragged = test::make_args({1, 12}, storage, storage, storage);
  const auto misaligned = test::make_args({1, 8}, storage + 1, storage, storage);
  auto no_epsilon = test::make_args({1, 8}, storage, storage, storage);
  no_epsilon.epsilon = 0.0F;

  for (const auto& args : {ragged, misaligned, no_epsilon}) {
    const Status status = rms_norm_reference(args);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Bf16, RoundsToNearestEvenAndKeepsNan) {
  EXPECT_EQ(to_bf16(1.0F).bits, 0x3f80);
  EXPECT_EQ(to_bf16(1.00390625F).bits, 0x3f80);  // half a step above 1: ties to even
  EXPECT_EQ(to_bf16(1.01171875F).bits, 0x3f82);  // half a step above an odd value
  EXPECT_NE(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN())),
            to_float(to_bf16(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace deepinfer::kernels
