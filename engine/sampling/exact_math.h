// exp and log whose bits are the same on every machine: plain double products and sums in a fixed
// order, no library call, no fused operation. A device that does the same gets the same bits.
//
// Numerics: relative error below 1e-15 (log: absolute below 1e-15 near 1); exact_exp(x) is 0 below
//           -708 and infinity above 709; exact_log wants x > 0
// Threads:  pure functions
// Source:   Cody and Waite reduction; Taylor series of exp, the atanh series of log
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace deepinfer::engine {

[[nodiscard]] inline double exact_exp(double x) {
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 6.93147180369123816490e-01;  // 33 bits: n * kLn2High is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  if (x < -708.0) return 0.0;
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  const double n = std::floor(x * kLog2E + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;  // |r| <= 0.347
  double sum = 1.0;
  for (int term = 14; term >= 1; --term) sum = 1.0 + sum * r / static_cast<double>(term);
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023);
  return sum * std::bit_cast<double>(exponent << 52U);
}

[[nodiscard]] inline double exact_log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kSqrtHalf = 0.70710678118654752440;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // [0.5, 1)
  if (m < kSqrtHalf) {
    m *= 2.0;
    --exponent;
  }
  const double z = (m - 1.0) / (m + 1.0);  // |z| <= 0.172
  const double square = z * z;
  double sum = 0.0;
  for (int term = 23; term >= 1; term -= 2) sum = sum * square + 1.0 / static_cast<double>(term);
  const auto n = static_cast<double>(exponent);
  return n * kLn2High + (n * kLn2Low + 2.0 * z * sum);
}

}  // namespace deepinfer::engine
