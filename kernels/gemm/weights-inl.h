// The four weight formats in vectors: where a row lies, and 16 or 32 elements of it as fp32 numbers.
//
// Numerics: exact: the numbers of unpack_weight_row, for FP8 divided by 256, which the sum makes good:
//           a power of two moves no rounding of a sum above 2^-118

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/gemm/linear.h"
#include "kernels/quant/codes-inl.h"

// Highway's guard: once for each instruction set.
#if defined(DEEPINFER_KERNELS_GEMM_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DEEPINFER_KERNELS_GEMM_WEIGHTS_INL_H
#undef DEEPINFER_KERNELS_GEMM_WEIGHTS_INL_H
#else
#define DEEPINFER_KERNELS_GEMM_WEIGHTS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

struct WeightRow {
  const std::uint8_t* data = nullptr;
  const std::uint8_t* scales = nullptr;
};

// Each format has
//   row()              where a row lies;
//   unpack<Chunks>()  Chunks * 16 elements from k on, k a multiple of 32;
//   sum_scale()        what a finished sum is multiplied with.

struct Fp8Block32 {
  static HWY_INLINE WeightRow row(const WeightMatrix& weight, std::int64_t n) {
    const std::int64_t blocks = (weight.cols + 31) / 32;
    return {.data = static_cast<const std::uint8_t*>(weight.data) + n * weight.cols,
            .scales = weight.scales + n / 32 * blocks};
  }
  template <std::size_t Chunks>
  static HWY_INLINE void unpack(const WeightRow& row, std::int64_t k, F32 (&w)[2 * kParts]) {
    const F32 scale = hn::Set(F32Tag(), kE8m0Values[row.scales[k / 32]]);
    for (std::size_t p = 0; p < Chunks * kParts; ++p) {
      w[p] = hn::Mul(read_e4m3_by_256(row.data + k + p * kLanes), scale);
    }
  }
  // One NaN in a row makes every sum over that row NaN: looked for here, not at each element.
  static HWY_INLINE float sum_scale(const WeightRow& row, std::int64_t cols) {
    return has_e4m3_nan(row.data, cols) ? std::numeric_limits<float>::quiet_NaN() : 256.0F;
  }
};

struct Fp4Group32 {
  static HWY_INLINE WeightRow row(const WeightMatrix& weight, std::int64_t n) {
    return {.data = static_cast<const std::uint8_t*>(weight.data) + n * (weight.cols / 2),
            .scales = weight.scales + n * (weight.cols / 32)};
  }
  template <std::size_t Chunks>
  static HWY_INLINE void unpack(const WeightRow& row, std::int64_t k, F32 (&w)[2 * kParts]) {
    // The limits make cols a multiple of 32; the codes are read doubled.
    const F32 scale = hn::Set(F32Tag(), 0.5F * kE8m0Values[row.scales[k / 32]]);
    read_e2m1_doubled(row.data + k / 2, w);
    for (std::size_t p = 0; p < Chunks * kParts; ++p) w[p] = hn::Mul(w[p], scale);
  }
  static HWY_INLINE float sum_scale(const WeightRow& /*row*/, std::int64_t /*cols*/) {
    return 1.0F;
  }
};

struct Bf16Weights {
  static HWY_INLINE WeightRow row(const WeightMatrix& weight, std::int64_t n) {
    return {.data = static_cast<const std::uint8_t*>(weight.data) + n * weight.cols * 2};
  }
  template <std::size_t Chunks>
  static HWY_INLINE void unpack(const WeightRow& row, std::int64_t k, F32 (&w)[2 * kParts]) {
    const auto* elements = reinterpret_cast<const Bf16*>(row.data) + k;
    for (std::size_t p = 0; p < Chunks * kParts; ++p) {
      w[p] = load_bf16(F32Tag(), elements + p * kLanes);
    }
  }
  static HWY_INLINE float sum_scale(const WeightRow& /*row*/, std::int64_t /*cols*/) {
    return 1.0F;
  }
};

struct F32Weights {
  static HWY_INLINE WeightRow row(const WeightMatrix& weight, std::int64_t n) {
    return {.data = static_cast<const std::uint8_t*>(weight.data) + n * weight.cols * 4};
  }
  template <std::size_t Chunks>
  static HWY_INLINE void unpack(const WeightRow& row, std::int64_t k, F32 (&w)[2 * kParts]) {
    const auto* elements = reinterpret_cast<const float*>(row.data) + k;
    for (std::size_t p = 0; p < Chunks * kParts; ++p) {
      w[p] = hn::LoadU(F32Tag(), elements + p * kLanes);
    }
  }
  static HWY_INLINE float sum_scale(const WeightRow& /*row*/, std::int64_t /*cols*/) {
    return 1.0F;
  }
};

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DEEPINFER_KERNELS_GEMM_WEIGHTS_INL_H
