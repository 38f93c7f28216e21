// Storage types of the checkpoint and the caches, and their conversions to and from float.
//
// They have the bits of the CUDA types of the same meaning, and need no CUDA header, so that every
// contract in kernels/ compiles on a machine without the toolkit. A .cu file converts pointers once,
// at its launcher.
//
// Numerics: every ..._to_float is exact; to_bf16, to_e4m3 and to_e2m1 round to nearest, ties to even,
//           subnormals kept; to_bf16 keeps NaN a NaN, the other two take finite values only.
// Source:   E4M3 (no infinity), E2M1 and E8M0: OCP Microscaling Formats v1.0; spec/model.md 4
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/view.h"

namespace deepinfer::kernels {

struct Bf16 {
  std::uint16_t bits;
};

[[nodiscard]] inline float to_float(Bf16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

[[nodiscard]] inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return Bf16{static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  const std::uint32_t half = 0x7fffU + ((bits >> 16) & 1U);
  return Bf16{static_cast<std::uint16_t>((bits + half) >> 16)};
}

inline constexpr float kE4m3Max = 448.0F;
inline constexpr float kE2m1Max = 6.0F;
inline constexpr std::uint8_t kE8m0Nan = 255;
inline constexpr std::uint8_t kE4m3Nan = 0x7f;

// 2^(byte - 127); 255 is NaN.
[[nodiscard]] constexpr float e8m0_to_float(std::uint8_t byte) {
  constexpr std::uint32_t kSubnormal = 0x00400000;  // 2^-127
  constexpr std::uint32_t kNan = 0x7fc00000;
  if (byte == 0) return std::bit_cast<float>(kSubnormal);
  return std::bit_cast<float>(byte == kE8m0Nan ? kNan : std::uint32_t{byte} << 23);
}

// e8m0_to_float of every byte, for loops that look up one scale per group.
inline constexpr std::array<float, 256> kE8m0Values = [] {
  std::array<float, 256> values{};
  for (std::size_t byte = 0; byte < values.size(); ++byte) {
    values[byte] = e8m0_to_float(static_cast<std::uint8_t>(byte));
  }
  return values;
}();

// The E8M0 byte of the smallest power of two that is not below `value`, for value >= 2^-126; NaN for
// what is not finite.
[[nodiscard]] inline std::uint8_t e8m0_ceil(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = (bits >> 23) + ((bits & 0x7fffffU) != 0 ? 1U : 0U);
  return exponent < kE8m0Nan ? static_cast<std::uint8_t>(exponent) : kE8m0Nan;
}

[[nodiscard]] inline float e4m3_to_float(std::uint8_t code) {
  const std::uint32_t sign = (code & 0x80U) << 24;
  const std::uint32_t magnitude = code & 0x7fU;
  if (magnitude == kE4m3Nan) return std::bit_cast<float>(sign | 0x7fc00000U);
  // The exponent bias of fp32 is 120 more; an E4M3 subnormal becomes an fp32 subnormal here.
  const auto shifted = std::bit_cast<float>(sign | (magnitude << 20));
  return shifted * 0x1p120F;
}

[[nodiscard]] inline float e2m1_to_float(std::uint8_t nibble) {
  constexpr std::array<float, 8> kMagnitudes = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
  const float magnitude = kMagnitudes[nibble & 7U];
  return (nibble & 8U) != 0 ? -magnitude : magnitude;
}

// |value| <= 448, else the code of +-448.
[[nodiscard]] inline std::uint8_t to_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31;
  float magnitude = std::bit_cast<float>(bits & 0x7fffffffU);
  if (magnitude > kE4m3Max) magnitude = kE4m3Max;
  // Adding a power of two 2^20 above the leading bit (not below 2^-6) leaves three mantissa bits.
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(magnitude) & 0x7f800000U;
  const std::uint32_t floor = 121U << 23;
  const auto shift = std::bit_cast<float>((exponent > floor ? exponent : floor) + (20U << 23));
  const float rounded = (magnitude + shift) - shift;
  const auto code = std::bit_cast<std::uint32_t>(rounded * 0x1p-120F) >> 20;
  return static_cast<std::uint8_t>((sign << 7) | code);
}

// |value| <= 6, else the code of +-6; a nibble.
[[nodiscard]] inline std::uint8_t to_e2m1(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31;
  float magnitude = std::bit_cast<float>(bits & 0x7fffffffU);
  if (magnitude > kE2m1Max) magnitude = kE2m1Max;
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(magnitude) & 0x7f800000U;
  const std::uint32_t floor = 127U << 23;  // below 1 the step stays a half
  const auto shift = std::bit_cast<float>((exponent > floor ? exponent : floor) + (22U << 23));
  const float rounded = (magnitude + shift) - shift;
  const auto code = std::bit_cast<std::uint32_t>(rounded * 0x1p-126F) >> 22;
  return static_cast<std::uint8_t>((sign << 3) | code);
}

}  // namespace deepinfer::kernels
