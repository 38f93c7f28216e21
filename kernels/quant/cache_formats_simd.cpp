#include <bit>
#include <cstdint>

#include "kernels/quant/cache_formats.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quant/cache_formats_simd.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/quant/codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

constexpr std::uint32_t kInfinityBits = 0x7f800000U;

struct Fp8E8m0 {
  static constexpr std::int64_t kGroup = 32;
  static constexpr std::uint8_t kNan = kE8m0Nan;
  static float floor() { return 1e-4F; }
  static std::uint8_t scale_byte(float largest) { return e8m0_ceil(largest / kE4m3Max); }
  static float scale(std::uint8_t byte) { return kE8m0Values[byte]; }
};
struct Fp4E4m3 {
  static constexpr std::int64_t kGroup = 16;
  static constexpr std::uint8_t kNan = kE4m3Nan;
  static float floor() { return 6.0F * 0x1p-9F; }
  static std::uint8_t scale_byte(float largest) { return to_e4m3(largest / kE2m1Max); }
  static float scale(std::uint8_t byte) { return e4m3_to_float(byte); }
};
struct Fp4E8m0 {
  static constexpr std::int64_t kGroup = 32;
  static constexpr std::uint8_t kNan = kE8m0Nan;
  static float floor() { return 6.0F * 0x1p-126F; }
  static std::uint8_t scale_byte(float largest) { return e8m0_ceil(largest / kE2m1Max); }
  static float scale(std::uint8_t byte) { return kE8m0Values[byte]; }
};

// The codes of kLanes values, one a word. A rounded magnitude times a power of two has its code in
// its leading bits, for subnormal codes as an fp32 subnormal.
HWY_INLINE hn::Vec<U32Tag> e4m3_words(F32 v) {
  const U32Tag u32;
  const auto sign = hn::ShiftLeft<7>(hn::ShiftRight<31>(hn::BitCast(u32, v)));
  const F32 moved = hn::Mul(round_e4m3(v), hn::Set(F32Tag(), 0x1p-120F));
  return hn::Or(sign, hn::ShiftRight<20>(hn::BitCast(u32, moved)));
}
HWY_INLINE hn::Vec<U32Tag> e2m1_words(F32 v) {
  const U32Tag u32;
  const auto sign = hn::ShiftLeft<3>(hn::ShiftRight<31>(hn::BitCast(u32, v)));
  const F32 moved = hn::Mul(round_e2m1(v), hn::Set(F32Tag(), 0x1p-126F));
  return hn::Or(sign, hn::ShiftRight<22>(hn::BitCast(u32, moved)));
}

// One byte for each of n values, before nibbles are paired.
template <bool IsFp8>
HWY_INLINE void write_codes(const Bf16* HWY_RESTRICT values, float divisor, std::int64_t n,
                            std::uint8_t* HWY_RESTRICT codes) {
  const F32Tag d;
  const hn::Rebind<std::uint8_t, F32Tag> u8;
  const F32 divisors = hn::Set(d, divisor);
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(kLanes)) {
    const F32 scaled = hn::Div(load_bf16(d, values + i), divisors);
    const auto words = IsFp8 ? e4m3_words(scaled) : e2m1_words(scaled);
    hn::StoreU(hn::DemoteTo(u8, hn::BitCast(I32Tag(), words)), u8, codes + i);
  }
}

template <class Format, bool IsFp8>
void pack_row(const Bf16* HWY_RESTRICT values, std::int64_t n, std::uint8_t* HWY_RESTRICT codes) {
  std::uint8_t* scales = codes + (IsFp8 ? n : n / 2);
  for (std::int64_t first = 0; first < n; first += Format::kGroup) {
    const std::uint32_t largest = largest_magnitude_bits(values + first, Format::kGroup);
    const float floored = HWY_MAX(std::bit_cast<float>(largest), Format::floor());
    std::uint8_t group[Format::kGroup] = {};
    std::uint8_t scale = Format::kNan;
    if (largest < kInfinityBits) {
      scale = Format::scale_byte(floored);
      write_codes<IsFp8>(values + first, Format::scale(scale), Format::kGroup, group);
    }
    scales[first / Format::kGroup] = scale;
    for (std::int64_t i = 0; i < Format::kGroup; ++i) {
      if constexpr (IsFp8) {
        codes[first + i] = group[i];
      } else if (i % 2 == 0) {
        codes[(first + i) / 2] = static_cast<std::uint8_t>(group[i] | (group[i + 1] << 4));
      }
    }
  }
}

void pack_rows(const PackArgs& args) {
  const std::int64_t n = args.values.extent(1);
  for (std::int64_t row = 0; row < args.values.extent(0); ++row) {
    const Bf16* values = args.values.data() + row * n;
    std::uint8_t* packed = args.packed.data() + row * args.packed.extent(1);
    switch (args.format) {
      case CacheFormat::kFp8E8m0:
        pack_row<Fp8E8m0, true>(values, n, packed);
        break;
      case CacheFormat::kFp4E4m3:
        pack_row<Fp4E4m3, false>(values, n, packed);
        break;
      case CacheFormat::kFp4E8m0:
        pack_row<Fp4E8m0, false>(values, n, packed);
        break;
    }
  }
}

void unpack_fp8(const UnpackRow& row) {
  const F32Tag d;
  for (std::int64_t i = 0; i < row.n; i += static_cast<std::int64_t>(kLanes)) {
    const F32 scale = hn::Set(d, Fp8E8m0::scale(row.scales[i / Fp8E8m0::kGroup]));
    hn::StoreU(hn::Mul(read_e4m3(row.codes + i), scale), d, row.unpacked + i);
  }
}

// 32 values, the first 16 with one scale, the others with another. The codes are read doubled.
HWY_INLINE void unpack_fp4_pair(const std::uint8_t* HWY_RESTRICT codes, float first, float second,
                                float* HWY_RESTRICT unpacked) {
  const F32Tag d;
  F32 values[2 * kParts];
  read_e2m1_doubled(codes, values);
  for (std::size_t p = 0; p < 2 * kParts; ++p) {
    const F32 scale = hn::Set(d, 0.5F * (p < kParts ? first : second));
    hn::StoreU(hn::Mul(values[p], scale), d, unpacked + p * kLanes);
  }
}

void unpack_fp4_e8m0(const UnpackRow& row) {
  for (std::int64_t i = 0; i < row.n; i += 32) {
    const float scale = Fp4E8m0::scale(row.scales[i / 32]);
    unpack_fp4_pair(row.codes + i / 2, scale, scale, row.unpacked + i);
  }
}

void unpack_fp4_e4m3(const UnpackRow& row) {
  std::int64_t i = 0;
  for (; i + 32 <= row.n; i += 32) {
    unpack_fp4_pair(row.codes + i / 2, Fp4E4m3::scale(row.scales[i / 16]),
                    Fp4E4m3::scale(row.scales[i / 16 + 1]), row.unpacked + i);
  }
  if (i == row.n) return;
  UnpackRow last = row;
  last.codes += i / 2;
  last.scales += i / 16;
  last.unpacked += i;
  last.n = row.n - i;
  unpack_row_reference(last);
}

void unpack_row(const UnpackRow& row) {
  switch (row.format) {
    case CacheFormat::kFp8E8m0:
      return unpack_fp8(row);
    case CacheFormat::kFp4E4m3:
      return unpack_fp4_e4m3(row);
    case CacheFormat::kFp4E8m0:
      return unpack_fp4_e8m0(row);
  }
}

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(pack_rows);
HWY_EXPORT(unpack_row);

}  // namespace

Status pack_cpu(const PackArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, pack_limits(args));
  HWY_DYNAMIC_DISPATCH(pack_rows)(args);
  return Done{};
}

void unpack_row_cpu(const UnpackRow& row) { HWY_DYNAMIC_DISPATCH(unpack_row)(row); }

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
