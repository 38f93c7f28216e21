// The shared vector helpers, on every instruction set that this machine has.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/simd_targets.h"
#include "tests/kernels/gemm/linear_cases.h"
#include "tests/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/gemm/simd_inl_test.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

void exp_all(const float* x, std::size_t n, float* y) {
  const F32Tag d;
  for (std::size_t i = 0; i < n; i += kLanes) {
    hn::StoreU(vector_exp(d, hn::LoadU(d, x + i)), d, y + i);
  }
}

void round_all(const float* x, std::size_t n, Bf16* y) {
  const F32Tag d;
  for (std::size_t i = 0; i < n; i += kLanes) store_bf16(d, hn::LoadU(d, x + i), y + i);
}

// One dot product, then the same by rows.
void dot_all(const float* a, const float* b, std::int64_t n, float* out) {
  out[0] = dot16(a, b, n);
  dot16_rows<3>(a, b, n, n, out + 1);
}

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(exp_all);
HWY_EXPORT(round_all);
HWY_EXPORT(dot_all);

// Distance in representable numbers; both are finite and not negative.
std::int64_t steps_between(float a, float b) {
  return std::abs(std::int64_t{std::bit_cast<std::int32_t>(a)} -
                  std::int64_t{std::bit_cast<std::int32_t>(b)});
}

TEST(VectorExp, IsWithinTwoStepsFromUnderflowToOverflow) {
  std::vector<float> x(51904);  // a multiple of 16
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = -104.0F + 0.00371F * static_cast<float>(i);
  deepinfer::test::for_each_highway_target([&](std::int64_t target) {
    std::vector<float> y(x.size());
    HWY_DYNAMIC_DISPATCH(exp_all)(x.data(), x.size(), y.data());
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto expected = static_cast<float>(std::exp(static_cast<double>(x[i])));
      largest = std::max(largest, steps_between(y[i], expected));
    }
    EXPECT_LE(largest, 2) << hwy::TargetName(target);
  });
}

TEST(VectorExp, KnowsTheEdges) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float lowest = std::numeric_limits<float>::lowest();
  const float x[16] = {-infinity, lowest, -105.0F, 0.0F, -0.0F, 88.9F, infinity, NAN, 1.0F};
  deepinfer::test::for_each_highway_target([&](std::int64_t target) {
    float y[16];
    HWY_DYNAMIC_DISPATCH(exp_all)(x, 16, y);
    const float expected[7] = {0.0F, 0.0F, 0.0F, 1.0F, 1.0F, infinity, infinity};
    for (int i = 0; i < 7; ++i) EXPECT_EQ(y[i], expected[i]) << hwy::TargetName(target) << " " << i;
    EXPECT_TRUE(std::isnan(y[7]));
  });
}

TEST(SimdHelpers, HaveTheSameBitsOnEveryFusedInstructionSet) {
  const std::vector<float> x = test::normal_values(4096, 3);
  std::vector<float> first;
  deepinfer::test::for_each_highway_target([&](std::int64_t target) {
    if (!deepinfer::test::has_fused_multiply_add(target)) return;
    std::vector<float> y(x.size() + 4);
    HWY_DYNAMIC_DISPATCH(exp_all)(x.data(), x.size(), y.data());
    HWY_DYNAMIC_DISPATCH(dot_all)(x.data(), x.data() + 1024, 1024, y.data() + x.size());
    if (first.empty()) first = y;
    EXPECT_EQ(y, first) << hwy::TargetName(target);
  });
}

TEST(Dot16, HasTheBitsOfTheContractAloneAndByRows) {
  const std::vector<float> a = test::normal_values(528, 4);
  const std::vector<float> b = test::normal_values(1584, 5);
  deepinfer::test::for_each_highway_target([&](std::int64_t target) {
    if (!deepinfer::test::has_fused_multiply_add(target)) return;
    float out[4];
    HWY_DYNAMIC_DISPATCH(dot_all)(a.data(), b.data(), 528, out);
    for (std::size_t row = 0; row < 3; ++row) {
      EXPECT_EQ(out[row + 1], test::contract_dot(a.data(), b.data() + row * 528, 528));
    }
    EXPECT_EQ(out[0], out[1]);
  });
}

TEST(StoreBf16, RoundsAsToBf16Does) {
  std::vector<float> x = test::normal_values(1024, 6);
  const std::uint32_t edges[] = {0x3f808000, 0x3f818000, 0x7f7fffff, 0x7f800000,
                                 0xff800000, 0x7f800001, 0xffffffff, 0x00000001};
  for (std::size_t i = 0; i < std::size(edges); ++i) x[i] = std::bit_cast<float>(edges[i]);
  deepinfer::test::for_each_highway_target([&](std::int64_t target) {
    std::vector<Bf16> y(x.size());
    HWY_DYNAMIC_DISPATCH(round_all)(x.data(), x.size(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y[i].bits, to_bf16(x[i]).bits) << hwy::TargetName(target) << " " << x[i];
    }
  });
}

}  // namespace
}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
