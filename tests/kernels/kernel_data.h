// What the kernel tests share: random rows, and comparisons in units of bf16.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/float_types.h"

namespace deepinfer::kernels::test {

// Uniform in [-scale, scale); the same numbers on every platform.
inline std::vector<float> random_floats(std::int64_t count, float scale, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    const auto drawn = static_cast<float>(generator() >> 40U);  // 24 bits
    value = (drawn / 8388608.0F - 1.0F) * scale;
  }
  return values;
}

inline std::vector<Bf16> to_bf16_row(const std::vector<float>& values) {
  std::vector<Bf16> rounded(values.size());
  std::transform(values.begin(), values.end(), rounded.begin(), to_bf16);
  return rounded;
}

inline std::vector<Bf16> random_bf16(std::int64_t count, float scale, std::uint64_t seed) {
  return to_bf16_row(random_floats(count, scale, seed));
}

inline std::vector<float> to_floats(const std::vector<Bf16>& values) {
  std::vector<float> widened(values.size());
  std::transform(values.begin(), values.end(), widened.begin(), [](Bf16 v) { return to_float(v); });
  return widened;
}

// The distance between the bf16 numbers around `value`.
inline float bf16_ulp(float value) {
  if (value == 0.0F) return std::numeric_limits<float>::min();
  return std::ldexp(1.0F, std::ilogb(value) - 7);
}

struct Tolerance {
  float ulps = 0.0F;      // of bf16, at the greater of the two values
  float absolute = 0.0F;  // added to it
};

inline void expect_close(const std::vector<float>& actual, const std::vector<float>& expected,
                         Tolerance tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const float size = std::max(std::abs(actual[i]), std::abs(expected[i]));
    const float allowed = tolerance.ulps * bf16_ulp(size) + tolerance.absolute;
    const float distance = std::abs(actual[i] - expected[i]);
    ASSERT_LE(distance, allowed) << "value " << i << ": " << actual[i] << " and " << expected[i];
  }
}

inline void expect_close(const std::vector<Bf16>& actual, const std::vector<float>& expected,
                         Tolerance tolerance) {
  expect_close(to_floats(actual), expected, tolerance);
}

inline void expect_close(const std::vector<Bf16>& actual, const std::vector<Bf16>& expected,
                         Tolerance tolerance) {
  expect_close(to_floats(actual), to_floats(expected), tolerance);
}

// Bit for bit, NaN and signed zero included.
template <typename T>
bool same_bits(const T* a, const T* b, std::int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), static_cast<std::int64_t>(a.size()));
}

}  // namespace deepinfer::kernels::test
