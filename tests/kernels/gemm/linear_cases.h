// Random weight matrices of every stored format and activations to go with them.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/gemm/linear.h"

namespace deepinfer::kernels::test {

inline constexpr WeightFormat kWeightFormats[] = {
    WeightFormat::kFp8Block32, WeightFormat::kFp4Group32, WeightFormat::kBf16, WeightFormat::kF32};

inline std::string format_name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kFp8Block32:
      return "fp8";
    case WeightFormat::kFp4Group32:
      return "fp4";
    case WeightFormat::kBf16:
      return "bf16";
    case WeightFormat::kF32:
      return "f32";
  }
  return "?";
}

// Owns what a WeightMatrix points at.
struct Weights {
  std::vector<std::uint8_t> data;
  std::vector<std::uint8_t> scales;
  WeightMatrix matrix;
};

inline std::vector<float> normal_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

// Uniform in [first, last].
inline std::vector<std::uint8_t> random_bytes(std::int64_t count, unsigned first, unsigned last,
                                              unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<unsigned> byte(first, last);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (std::uint8_t& value : bytes) value = static_cast<std::uint8_t>(byte(generator));
  return bytes;
}

// The bytes of normal values as `Stored`.
template <typename Stored, typename Convert>
std::vector<std::uint8_t> normal_bytes(std::int64_t count, unsigned seed, const Convert& convert) {
  std::vector<std::uint8_t> bytes;
  for (const float value : normal_values(static_cast<std::size_t>(count), seed)) {
    const auto stored = std::bit_cast<std::array<std::uint8_t, sizeof(Stored)>>(convert(value));
    bytes.insert(bytes.end(), stored.begin(), stored.end());
  }
  return bytes;
}

// FP8 and FP4: every finite code, scales over 2^-15 to 2^-8. Bf16 and f32: normal.
inline Weights random_weights(WeightFormat format, std::int64_t outputs, std::int64_t cols,
                              unsigned seed) {
  Weights weights;
  const std::int64_t count = outputs * cols;
  const std::int64_t groups = (cols + 31) / 32;
  switch (format) {
    case WeightFormat::kFp8Block32:
      weights.data = random_bytes(count, 0, 0xff, seed);
      for (std::uint8_t& code : weights.data) code = (code & 0x7fU) == kE4m3Nan ? 0 : code;
      weights.scales = random_bytes((outputs + 31) / 32 * groups, 112, 119, seed + 1);
      break;
    case WeightFormat::kFp4Group32:
      weights.data = random_bytes(count / 2, 0, 0xff, seed);
      weights.scales = random_bytes(outputs * groups, 112, 119, seed + 1);
      break;
    case WeightFormat::kBf16:
      weights.data = normal_bytes<Bf16>(count, seed, [](float value) { return to_bf16(value); });
      break;
    case WeightFormat::kF32:
      weights.data = normal_bytes<float>(count, seed, [](float value) { return value; });
      break;
  }
  weights.matrix = {.format = format,
                    .data = weights.data.data(),
                    .scales = weights.scales.empty() ? nullptr : weights.scales.data(),
                    .outputs = outputs,
                    .cols = cols};
  return weights;
}

inline LinearArgs make_args(const std::vector<float>& x, const WeightMatrix& weight,
                            std::vector<float>& y) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / weight.cols;
  y.assign(static_cast<std::size_t>(rows * weight.outputs), 0.0F);
  return {
      .x = View<const float, 2>(x.data(), rows, weight.cols), .weight = weight, .y_f32 = y.data()};
}

// The sum of the contract, one scalar step at a time.
inline float contract_dot(const float* x, const float* w, std::int64_t cols) {
  float sums[16] = {};
  for (std::int64_t k = 0; k < cols; ++k) sums[k % 16] = std::fma(x[k], w[k], sums[k % 16]);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) sums[i] = sums[i] + sums[i + width];
  }
  return sums[0];
}

}  // namespace deepinfer::kernels::test
