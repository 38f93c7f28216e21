#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/norm/rms_norm.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/rms_norm_simd.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

constexpr std::int64_t kChunk = 16;

HWY_INLINE void add_squares(const Bf16* HWY_RESTRICT x, Sums16& sums) {
  for (std::size_t p = 0; p < kParts; ++p) {
    const F32 value = load_bf16(F32Tag(), x + p * kLanes);
    sums.part[p] = hn::MulAdd(value, value, sums.part[p]);
  }
}

HWY_INLINE float sum_of_squares(const Bf16* HWY_RESTRICT x, std::int64_t hidden) {
  Sums16 sums = zero16();
  std::int64_t i = 0;
  for (; i + kChunk <= hidden; i += kChunk) add_squares(x + i, sums);
  if (i < hidden) {  // 8 are left
    Bf16 last[kChunk] = {};
    std::copy(x + i, x + hidden, last);
    add_squares(last, sums);
  }
  return fold16(sums);
}

void normalize_rows(const RmsNormArgs& args, std::int64_t begin, std::int64_t end) {
  const hn::CappedTag<float, 8> d;  // `hidden` is a multiple of 8
  const std::int64_t hidden = args.x.extent(1);
  const Bf16* weight = args.weight.data();
  for (std::int64_t row = begin; row < end; ++row) {
    const Bf16* x = args.x.data() + row * hidden;
    Bf16* y = args.y.data() + row * hidden;  // may be x
    const float mean = sum_of_squares(x, hidden) / static_cast<float>(hidden);
    const auto scale = hn::Set(d, 1.0F / std::sqrt(mean + args.epsilon));
    for (std::int64_t i = 0; i < hidden; i += static_cast<std::int64_t>(hn::Lanes(d))) {
      const auto normed = hn::Mul(load_bf16(d, x + i), scale);
      store_bf16(d, hn::Mul(normed, load_bf16(d, weight + i)), y + i);
    }
  }
}

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(normalize_rows);

// Waking a second thread costs about as much as this many elements.
constexpr std::int64_t kElementsWorthAThread = 32768;

}  // namespace

Status rms_norm_cpu(const RmsNormArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, rms_norm_limits(args));

  const auto normalize = HWY_DYNAMIC_DISPATCH(normalize_rows);
  const std::int64_t rows = args.x.extent(0);
  if (rows * args.x.extent(1) < kElementsWorthAThread) {
    normalize(args, 0, rows);
    return Done{};
  }
  workers.for_ranges(rows, [&](std::int64_t begin, std::int64_t end, int /*worker*/) {
    normalize(args, begin, end);
  });
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
