#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/quant/activations.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kGroup = 32;
constexpr float kFloor = 1e-4F;  // of the largest magnitude of a group

// The largest |x|; by its bits, so that NaN counts as larger than infinity.
float largest_magnitude(const Bf16* x) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < kGroup; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(to_float(x[i])) & 0x7fffffffU);
  }
  return std::bit_cast<float>(largest);
}

void quantize_group(const Bf16* x, float* y) {
  const float largest = largest_magnitude(x);
  const float floored = largest < kFloor ? kFloor : largest;
  const float scale = e8m0_to_float(e8m0_ceil(floored / kE4m3Max));
  for (std::int64_t i = 0; i < kGroup; ++i) {
    // A group with a value that is not finite has a NaN scale, and is NaN as a whole.
    y[i] = std::isnan(scale) ? scale : e4m3_to_float(to_e4m3(to_float(x[i]) / scale)) * scale;
  }
}

}  // namespace

Status quantize_activations_limits(const ActivationArgs& args) {
  const std::int64_t rows = args.x.extent(0);
  const std::int64_t n = args.x.extent(1);
  if (args.y.extent(0) != rows || args.y.extent(1) != n) {
    return fail(ErrorCode::kInvalidArgument, "quantize_activations: shapes of x and y disagree");
  }
  if (rows < 0) {
    return fail(ErrorCode::kInvalidArgument,
                "quantize_activations: rows is " + std::to_string(rows));
  }
  if (n <= 0 || n % kGroup != 0) {
    return fail(ErrorCode::kInvalidArgument, "quantize_activations: n is " + std::to_string(n));
  }
  return Done{};
}

Status quantize_activations_reference(const ActivationArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, quantize_activations_limits(args));

  const std::int64_t count = args.x.extent(0) * args.x.extent(1);
  for (std::int64_t first = 0; first < count; first += kGroup) {
    quantize_group(args.x.data() + first, args.y.data() + first);
  }
  return Done{};
}

}  // namespace deepinfer::kernels
