// Vector helpers shared by the fast CPU paths; compiled once for each instruction set. Include it after
// hwy/foreach_target.h, and use it inside HWY_NAMESPACE.
//
//   dot16, fold16       the accumulation of gemm/linear.h: element k goes to sum k mod 16
//   vector_exp          e^x of every lane
//   load_bf16, store_bf16
//
// Limits:   n % 16 == 0 for the dot products; no alignment
// Numerics: dot16: as gemm/linear.h says. vector_exp: within 2 units in the last place, subnormal
//           results included; 0 below -104, infinity above 88.8, NaN stays NaN.
// Batch:    the bits are the same on every set that has a fused multiply-add

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/float_types.h"

// Highway's guard: once for each instruction set.
#if defined(DEEPINFER_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DEEPINFER_KERNELS_SIMD_INL_H
#undef DEEPINFER_KERNELS_SIMD_INL_H
#else
#define DEEPINFER_KERNELS_SIMD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, so that the 16 partial sums are kParts whole vectors.
using F32Tag = hn::CappedTag<float, 16>;
using F32 = hn::Vec<F32Tag>;
constexpr std::size_t kPartialSums = 16;
constexpr std::size_t kLanes = hn::MaxLanes(F32Tag());
constexpr std::size_t kParts = kPartialSums / kLanes;

// The 16 partial sums; sum i is lane i % kLanes of part i / kLanes.
struct Sums16 {
  F32 part[kParts];
};

HWY_INLINE Sums16 zero16() {
  Sums16 sums;
  for (std::size_t p = 0; p < kParts; ++p) sums.part[p] = hn::Zero(F32Tag());
  return sums;
}

// Lane i with lane i + half, down to one lane.
template <class D>
HWY_INLINE float halve(D d, hn::Vec<D> v) {
#if HWY_TARGET == HWY_SCALAR  // one lane, and no halves
  (void)d;
  return hn::GetLane(v);
#else
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    return halve(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
}

// i with i + 8, i with i + 4, i with i + 2, i with i + 1.
HWY_INLINE float fold16(Sums16 sums) {
  for (std::size_t width = kParts / 2; width > 0; width /= 2) {
    for (std::size_t p = 0; p < width; ++p) {
      sums.part[p] = hn::Add(sums.part[p], sums.part[p + width]);
    }
  }
  return halve(F32Tag(), sums.part[0]);
}

// sum over k of a[k] b[k].
HWY_INLINE float dot16(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::int64_t n) {
  const F32Tag d;
  Sums16 sums = zero16();
  for (std::int64_t k = 0; k < n; k += static_cast<std::int64_t>(kPartialSums)) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const F32 left = hn::LoadU(d, a + k + p * kLanes);
      sums.part[p] = hn::MulAdd(left, hn::LoadU(d, b + k + p * kLanes), sums.part[p]);
    }
  }
  return fold16(sums);
}

// dot16 of `a` with Rows rows of b, `stride` elements apart: the same bits, Rows chains at a time.
template <std::size_t Rows>
HWY_INLINE void dot16_rows(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                           std::int64_t stride, std::int64_t n, float* HWY_RESTRICT out) {
  const F32Tag d;
  Sums16 sums[Rows];
  for (std::size_t r = 0; r < Rows; ++r) sums[r] = zero16();
  for (std::int64_t k = 0; k < n; k += static_cast<std::int64_t>(kPartialSums)) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const F32 left = hn::LoadU(d, a + k + p * kLanes);
      for (std::size_t r = 0; r < Rows; ++r) {
        const float* row = b + static_cast<std::int64_t>(r) * stride;
        sums[r].part[p] = hn::MulAdd(left, hn::LoadU(d, row + k + p * kLanes), sums[r].part[p]);
      }
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) out[r] = fold16(sums[r]);
}

// 2^n for whole n in [-126, 127].
template <class D>
HWY_INLINE hn::Vec<D> power_of_two(D d, hn::Vec<hn::RebindToSigned<D>> n) {
  const hn::RebindToSigned<D> i32;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(i32, 127))));
}

// x = n ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor series to r^7, whose next term is under an
// eighth of a unit in the last place; 2^n in two factors, so that subnormal results come out.
template <class D>
HWY_INLINE hn::Vec<D> vector_exp(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> i32;
  const auto too_small = hn::Lt(x, hn::Set(d, -104.0F));
  const auto too_large = hn::Gt(x, hn::Set(d, 88.8F));
  // Min and Max answer differently for NaN on different sets; the selects below keep NaN.
  const auto is_number = hn::Eq(x, x);
  const auto in_range = hn::AndNot(hn::Or(too_small, too_large), is_number);
  const auto safe = hn::IfThenElseZero(in_range, x);

  const auto n = hn::Round(hn::Mul(safe, hn::Set(d, 1.44269504088896341F)));
  // ln 2 in two parts; the first has 9 trailing zero bits, so that its product with n is exact.
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), safe);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440054690583e-4F), r);

  auto poly = hn::Set(d, 1.0F / 5040.0F);
  poly = hn::MulAdd(poly, r, hn::Set(d, 1.0F / 720.0F));
  poly = hn::MulAdd(poly, r, hn::Set(d, 1.0F / 120.0F));
  poly = hn::MulAdd(poly, r, hn::Set(d, 1.0F / 24.0F));
  poly = hn::MulAdd(poly, r, hn::Set(d, 1.0F / 6.0F));
  poly = hn::MulAdd(poly, r, hn::Set(d, 0.5F));
  poly = hn::MulAdd(poly, r, hn::Set(d, 1.0F));
  poly = hn::MulAdd(poly, r, hn::Set(d, 1.0F));

  const auto whole = hn::ConvertTo(i32, n);
  const auto first = hn::ShiftRight<1>(whole);
  auto y = hn::Mul(poly, power_of_two(d, first));
  y = hn::Mul(y, power_of_two(d, hn::Sub(whole, first)));
  y = hn::IfThenZeroElse(too_small, y);
  y = hn::IfThenElse(too_large, hn::Inf(d), y);
  return hn::IfThenElse(is_number, y, x);
}

// Lanes(d) values, widened.
template <class D>
HWY_INLINE hn::Vec<D> load_bf16(D d, const Bf16* HWY_RESTRICT from) {
  const hn::Rebind<std::uint16_t, D> u16;
  const hn::RebindToUnsigned<D> u32;
  const auto bits = hn::PromoteTo(u32, hn::LoadU(u16, &from->bits));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}

// Lanes(d) values, rounded as to_bf16 rounds.
template <class D>
HWY_INLINE void store_bf16(D /*d*/, hn::Vec<D> v, Bf16* HWY_RESTRICT to) {
  const hn::Rebind<std::uint16_t, D> u16;
  const hn::RebindToUnsigned<D> u32;
  const hn::RebindToSigned<D> i32;
  const auto bits = hn::BitCast(u32, v);
  const auto high = hn::ShiftRight<16>(bits);
  const auto half = hn::Add(hn::Set(u32, 0x7fffU), hn::And(high, hn::Set(u32, 1U)));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, half));
  const auto quiet = hn::Or(high, hn::Set(u32, 0x40U));
  const auto is_nan = hn::RebindMask(u32, hn::IsNaN(v));
  const auto chosen = hn::IfThenElse(is_nan, quiet, rounded);
  // Below 2^16, so that the saturating narrowing is exact.
  hn::StoreU(hn::DemoteTo(u16, hn::BitCast(i32, chosen)), u16, &to->bits);
}

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DEEPINFER_KERNELS_SIMD_INL_H
