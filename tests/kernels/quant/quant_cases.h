// Values that the quantisers find awkward, shared by their tests.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/float_types.h"

namespace deepinfer::kernels::test {

// Bf16 values of every finite exponent, from a fixed seed; runs of 32 share a range of eight binades,
// as real groups do, so that the codes are not all zero.
inline std::vector<Bf16> wide_values(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(generator() % bound);
  };
  std::vector<Bf16> values;
  std::uint32_t base = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % 32 == 0) base = below(247);
    const std::uint32_t exponent = base + below(8);
    const std::uint32_t sign = below(2);
    values.push_back(Bf16{static_cast<std::uint16_t>((sign << 15) | (exponent << 7) | below(128))});
  }
  return values;
}

inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

}  // namespace deepinfer::kernels::test
