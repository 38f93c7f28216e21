// E4M3 and E2M1 codes in vectors: rounding to them and reading them. Include it as kernels/simd-inl.h.
//
// Numerics: the same bits as the conversions of kernels/float_types.h

#include <cstddef>
#include <cstdint>

#include "kernels/simd-inl.h"

// Highway's guard: once for each instruction set.
#if defined(DEEPINFER_KERNELS_QUANT_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DEEPINFER_KERNELS_QUANT_CODES_INL_H
#undef DEEPINFER_KERNELS_QUANT_CODES_INL_H
#else
#define DEEPINFER_KERNELS_QUANT_CODES_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

using U32Tag = hn::RebindToUnsigned<F32Tag>;
using I32Tag = hn::RebindToSigned<F32Tag>;

// The bits of the largest magnitude of n values: by the bits, so that NaN counts as the largest.
HWY_INLINE std::uint32_t largest_magnitude_bits(const Bf16* HWY_RESTRICT x, std::int64_t n) {
  const F32Tag d;
  const U32Tag u32;
  auto largest = hn::Zero(u32);
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(kLanes)) {
    largest = hn::Max(largest, hn::BitCast(u32, hn::Abs(load_bf16(d, x + i))));
  }
  return hn::GetLane(hn::MaxOfLanes(u32, largest));
}

// min(|v|, max) rounded to nearest even with 23 - Shift mantissa bits; below the power of two whose
// bits are `floor`, with the step that numbers at `floor` have.
template <std::uint32_t Shift>
HWY_INLINE F32 round_magnitude(F32 v, float max, std::uint32_t floor) {
  const F32Tag d;
  const U32Tag u32;
  const F32 magnitude = hn::Min(hn::Abs(v), hn::Set(d, max));
  const auto exponent = hn::And(hn::BitCast(u32, magnitude), hn::Set(u32, 0x7f800000U));
  const auto leading = hn::Max(exponent, hn::Set(u32, floor));
  const F32 shift = hn::BitCast(d, hn::Add(leading, hn::Set(u32, Shift << 23)));
  return hn::Sub(hn::Add(magnitude, shift), shift);
}

// The nearest E4M3 and E2M1 magnitude of a finite v, without its sign.
HWY_INLINE F32 round_e4m3(F32 v) { return round_magnitude<20>(v, kE4m3Max, 121U << 23); }
HWY_INLINE F32 round_e2m1(F32 v) { return round_magnitude<22>(v, kE2m1Max, 127U << 23); }

// kLanes E4M3 bytes as half floats with the same digits: 2^-8 of their value, subnormals included.
// The NaN code reads as 480.
HWY_INLINE auto e4m3_halves(const std::uint8_t* HWY_RESTRICT codes) {
  const hn::Rebind<std::int8_t, F32Tag> i8;
  const hn::Rebind<std::int16_t, F32Tag> i16;
  const auto code = hn::LoadU(i8, reinterpret_cast<const std::int8_t*>(codes));
  const auto spread = hn::ShiftLeft<7>(hn::PromoteTo(i16, code));  // the sign in bits 15 and 14
  return hn::AndNot(hn::Set(i16, 0x4000), spread);
}

// kLanes E4M3 bytes as fp32, divided by 256, for callers that look for NaN codes themselves.
HWY_INLINE F32 read_e4m3_by_256(const std::uint8_t* HWY_RESTRICT codes) {
  const hn::Rebind<hwy::float16_t, F32Tag> f16;
  return hn::PromoteTo(F32Tag(), hn::BitCast(f16, e4m3_halves(codes)));
}

// kLanes E4M3 bytes as fp32.
HWY_INLINE F32 read_e4m3(const std::uint8_t* HWY_RESTRICT codes) {
#if HWY_TARGET == HWY_SCALAR  // whose conversion of half floats has no NaN
  return hn::Set(F32Tag(), e4m3_to_float(*codes));
#else
  const hn::Rebind<std::int16_t, F32Tag> i16;
  const hn::Rebind<hwy::float16_t, F32Tag> f16;
  const auto half = e4m3_halves(codes);
  // The magnitude 0x7f is NaN; so is a half float with all bits set.
  const auto is_nan = hn::Eq(hn::And(half, hn::Set(i16, 0x3f80)), hn::Set(i16, 0x3f80));
  const auto checked = hn::Or(half, hn::VecFromMask(i16, is_nan));
  return hn::Mul(hn::PromoteTo(F32Tag(), hn::BitCast(f16, checked)), hn::Set(F32Tag(), 256.0F));
#endif
}

// Whether n bytes, a multiple of 16, hold an E4M3 NaN.
HWY_INLINE bool has_e4m3_nan(const std::uint8_t* HWY_RESTRICT codes, std::int64_t n) {
  const hn::ScalableTag<std::uint8_t> u8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(u8));
  auto largest = hn::Zero(u8);  // of the codes doubled, which drops their signs
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto code = hn::LoadU(u8, codes + i);
    largest = hn::Max(largest, hn::Add(code, code));
  }
  bool found = !hn::AllFalse(u8, hn::Eq(largest, hn::Set(u8, 0xfe)));
  for (; i < n; ++i) found = found || (codes[i] & 0x7fU) == kE4m3Nan;
  return found;
}

#if HWY_TARGET == HWY_SCALAR  // no shuffles

// 16 bytes of E2M1 pairs as 32 numbers, each twice its value.
HWY_INLINE void read_e2m1_doubled(const std::uint8_t* HWY_RESTRICT pairs,
                                  F32 (&values)[2 * kParts]) {
  for (std::size_t i = 0; i < 2 * kParts; ++i) {
    const auto nibble =
        static_cast<std::uint8_t>(i % 2 == 0 ? pairs[i / 2] & 0xfU : pairs[i / 2] >> 4U);
    values[i] = hn::Set(F32Tag(), 2.0F * e2m1_to_float(nibble));
  }
}

#elif HWY_TARGET == HWY_AVX3

// 16 bytes of E2M1 pairs as 32 numbers, each twice its value. A lane gets the word that holds its
// nibble, shifts it down, and looks its number up by the lowest four bits.
HWY_INLINE void read_e2m1_doubled(const std::uint8_t* HWY_RESTRICT pairs,
                                  F32 (&values)[2 * kParts]) {
  alignas(64) static constexpr float kDoubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                     0, -1, -2, -3, -4, -6, -8, -12};
  alignas(64) static constexpr std::int32_t kWord[16] = {0, 0, 0, 0, 0, 0, 0, 0,
                                                         1, 1, 1, 1, 1, 1, 1, 1};
  alignas(64) static constexpr std::uint32_t kShift[16] = {0, 4, 8, 12, 16, 20, 24, 28,
                                                           0, 4, 8, 12, 16, 20, 24, 28};
  const U32Tag u32;
  const auto table = hn::Load(F32Tag(), kDoubled);
  const auto word = hn::Load(I32Tag(), kWord);
  const auto shift = hn::Load(u32, kShift);
  const hn::Repartition<std::uint8_t, U32Tag> u8;
  const auto words = hn::BitCast(u32, hn::LoadDup128(u8, pairs));
  const auto first = hn::TableLookupLanes(words, hn::IndicesFromVec(u32, word));
  const auto second =
      hn::TableLookupLanes(words, hn::IndicesFromVec(u32, hn::Add(word, hn::Set(I32Tag(), 2))));
  // The instruction reads four bits of an index; IndicesFromVec would want the others cleared.
  values[0] = hn::TableLookupLanes(table, hn::Indices512<float>{hn::Shr(first, shift).raw});
  values[1] = hn::TableLookupLanes(table, hn::Indices512<float>{hn::Shr(second, shift).raw});
}

#else

// Piece Piece of the Pieces equal pieces of v.
template <std::size_t Pieces, std::size_t Piece, class D>
HWY_INLINE auto piece_of(D d, hn::Vec<D> v) {
  if constexpr (Pieces == 1) {
    (void)d;
    return v;
  } else {
    const hn::Half<D> half;
    if constexpr (Piece < Pieces / 2) {
      return piece_of<Pieces / 2, Piece>(half, hn::LowerHalf(half, v));
    } else {
      return piece_of<Pieces / 2, Piece - Pieces / 2>(half, hn::UpperHalf(half, v));
    }
  }
}

template <std::size_t Part>
HWY_INLINE void widen_parts(hn::Vec<hn::FixedTag<std::int8_t, 16>> v, F32* HWY_RESTRICT parts) {
  const hn::FixedTag<std::int8_t, 16> i8;
  parts[Part] = hn::ConvertTo(F32Tag(), hn::PromoteTo(I32Tag(), piece_of<kParts, Part>(i8, v)));
  if constexpr (Part + 1 < kParts) widen_parts<Part + 1>(v, parts);
}

// 16 bytes of E2M1 pairs as 32 numbers, each twice its value: small whole numbers.
HWY_INLINE void read_e2m1_doubled(const std::uint8_t* HWY_RESTRICT pairs,
                                  F32 (&values)[2 * kParts]) {
  alignas(16) static constexpr std::int8_t kDoubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                           0, -1, -2, -3, -4, -6, -8, -12};
  const hn::FixedTag<std::uint8_t, 16> u8;
  const hn::FixedTag<std::int8_t, 16> i8;
  const auto table = hn::Load(i8, kDoubled);
  const auto both = hn::LoadU(u8, pairs);
  const auto low = hn::And(both, hn::Set(u8, 0x0f));
  const auto high = hn::ShiftRight<4>(both);
  const auto even = hn::TableLookupBytes(table, hn::BitCast(i8, low));
  const auto odd = hn::TableLookupBytes(table, hn::BitCast(i8, high));
  widen_parts<0>(hn::InterleaveLower(i8, even, odd), values);
  widen_parts<0>(hn::InterleaveUpper(i8, even, odd), values + kParts);
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DEEPINFER_KERNELS_QUANT_CODES_INL_H
