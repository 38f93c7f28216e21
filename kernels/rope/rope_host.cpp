#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/rope/rope.h"

namespace deepinfer::kernels {
namespace {

// The pair index at which a full turn takes original_positions / turns positions.
double pair_of_turns(const RopeParameters& parameters, double turns) {
  const double wavelength = parameters.yarn->original_positions / (2.0 * std::numbers::pi * turns);
  return static_cast<double>(parameters.dims) * std::log(wavelength) /
         (2.0 * std::log(parameters.base));
}

// Fast pairs keep their frequency, slow ones are divided by the factor, a ramp between them.
void scale_by_yarn(const RopeParameters& parameters, std::vector<float>& frequencies) {
  const YarnScaling& yarn = *parameters.yarn;
  const auto last = static_cast<double>(parameters.dims - 1);
  const double low = std::max(std::floor(pair_of_turns(parameters, yarn.beta_fast)), 0.0);
  const double high = std::min(std::ceil(pair_of_turns(parameters, yarn.beta_slow)), last);
  const auto width = static_cast<float>(low == high ? 0.001 : high - low);
  const auto factor = static_cast<float>(yarn.factor);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const float ramp = static_cast<float>(static_cast<double>(i) - low) / width;
    const float fast = 1.0F - std::clamp(ramp, 0.0F, 1.0F);
    frequencies[i] = frequencies[i] / factor * (1.0F - fast) + frequencies[i] * fast;
  }
}

}  // namespace

std::vector<float> rope_frequencies(const RopeParameters& parameters) {
  std::vector<float> frequencies(static_cast<std::size_t>(parameters.dims / 2));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(parameters.dims);
    // The power is rounded to fp32, and so is its reciprocal, as in the model's own program.
    frequencies[i] = 1.0F / static_cast<float>(std::pow(parameters.base, exponent));
  }
  if (parameters.yarn) scale_by_yarn(parameters, frequencies);
  return frequencies;
}

Status rope_table(const RopeTableArgs& args) {
  const std::int64_t rows = args.positions.extent(0);
  const std::int64_t pairs = args.frequencies.extent(0);
  for (const View<float, 2>& table : {args.cos, args.sin}) {
    if (rows < 0 || table.extent(0) != rows || table.extent(1) != pairs) {
      return fail(
          ErrorCode::kInvalidArgument,
          "rope_table: a table is not " + std::to_string(rows) + " x " + std::to_string(pairs));
    }
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto position = static_cast<float>(args.positions(row));
    for (std::int64_t i = 0; i < pairs; ++i) {
      const float angle = position * args.frequencies(i);
      args.cos(row, i) = static_cast<float>(std::cos(static_cast<double>(angle)));
      args.sin(row, i) = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
  return Done{};
}

Status rotate_limits(const RotateArgs& args) {
  const std::int64_t rows = args.x.extent(0);
  const std::int64_t heads = args.x.extent(1);
  const std::int64_t n = args.x.extent(2);
  const std::int64_t pairs = args.cos.extent(1);
  if (rows < 0 || heads < 0 || pairs < 0 || 2 * pairs > n) {
    return fail(ErrorCode::kInvalidArgument, "rotate: " + std::to_string(pairs) + " pairs of x " +
                                                 std::to_string(rows) + " x " +
                                                 std::to_string(heads) + " x " + std::to_string(n));
  }
  if (args.cos.extent(0) != rows || args.sin.extent(0) != rows || args.sin.extent(1) != pairs) {
    return fail(ErrorCode::kInvalidArgument, "rotate: shapes of x, cos and sin disagree");
  }
  return Done{};
}

Status rotate_reference(const RotateArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, rotate_limits(args));

  const std::int64_t pairs = args.cos.extent(1);
  const std::int64_t first = args.x.extent(2) - 2 * pairs;
  for (std::int64_t row = 0; row < args.x.extent(0); ++row) {
    for (std::int64_t head = 0; head < args.x.extent(1); ++head) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        Bf16& even = args.x(row, head, first + 2 * i);
        Bf16& odd = args.x(row, head, first + 2 * i + 1);
        const float a = to_float(even);
        const float b = to_float(odd);
        const float c = args.cos(row, i);
        const float s =
            args.direction == RopeDirection::kForward ? args.sin(row, i) : -args.sin(row, i);
        even = to_bf16(a * c - b * s);
        odd = to_bf16(a * s + b * c);
      }
    }
  }
  return Done{};
}

}  // namespace deepinfer::kernels
