#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/quant/activations.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quant/activations_simd.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/quant/codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

constexpr std::int64_t kGroup = 32;

HWY_INLINE void quantize_group(const Bf16* HWY_RESTRICT x, float* HWY_RESTRICT y) {
  constexpr std::uint32_t kFloor = std::bit_cast<std::uint32_t>(1e-4F);
  const F32Tag d;
  const std::uint32_t largest = HWY_MAX(largest_magnitude_bits(x, kGroup), kFloor);
  const float scale = e8m0_to_float(e8m0_ceil(std::bit_cast<float>(largest) / kE4m3Max));
  const F32 scales = hn::Set(d, scale);
  const F32 inverse = hn::Set(d, 1.0F / scale);  // exact: a power of two
  for (std::int64_t i = 0; i < kGroup; i += static_cast<std::int64_t>(kLanes)) {
    const F32 scaled = hn::Mul(load_bf16(d, x + i), inverse);
    const F32 rounded = hn::CopySign(round_e4m3(scaled), scaled);
    hn::StoreU(std::isnan(scale) ? scales : hn::Mul(rounded, scales), d, y + i);
  }
}

void quantize_groups(const Bf16* x, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kGroup) quantize_group(x + i, y + i);
}

void widen_values(const Bf16* x, float* y, std::int64_t count) {
  const F32Tag d;
  const auto lanes = static_cast<std::int64_t>(kLanes);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(load_bf16(d, x + i), d, y + i);
  for (; i < count; ++i) y[i] = to_float(x[i]);
}

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(quantize_groups);
HWY_EXPORT(widen_values);

// Waking a second thread costs about as much as this many elements.
constexpr std::int64_t kElementsWorthAThread = 32768;

template <typename Call>
void for_rows(const ActivationArgs& args, Workers& workers, const Call& call) {
  const std::int64_t rows = args.x.extent(0);
  const std::int64_t n = args.x.extent(1);
  const auto range = [&](std::int64_t begin, std::int64_t end, int /*worker*/) {
    call(args.x.data() + begin * n, args.y.data() + begin * n, (end - begin) * n);
  };
  if (rows * n < kElementsWorthAThread) {
    range(0, rows, 0);
  } else {
    workers.for_ranges(rows, range);
  }
}

}  // namespace

Status quantize_activations_cpu(const ActivationArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, quantize_activations_limits(args));
  for_rows(args, workers, HWY_DYNAMIC_DISPATCH(quantize_groups));
  return Done{};
}

Status widen_cpu(const ActivationArgs& args, Workers& workers) {
  const std::int64_t rows = args.x.extent(0);
  if (rows < 0 || args.y.extent(0) != rows || args.y.extent(1) != args.x.extent(1)) {
    return fail(ErrorCode::kInvalidArgument, "widen: shapes of x and y disagree");
  }
  for_rows(args, workers, HWY_DYNAMIC_DISPATCH(widen_values));
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
