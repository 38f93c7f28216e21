// The three stored formats of the caches (spec 4.1, 4.5, 4.6): rows of codes followed by their scales.
//
//   kFp8E8m0  window KV      n E4M3 bytes,              then n/32 E8M0 bytes   (512 -> 528 B)
//   kFp4E4m3  global KV      n/2 bytes of E2M1 pairs,   then n/16 E4M3 bytes   (512 -> 288 B)
//   kFp4E8m0  index q and k  n/2 bytes of E2M1 pairs,   then n/32 E8M0 bytes   (128 ->  68 B)
//
// An E2M1 pair has the even element in the low nibble. Scale rules and floors: spec 4.1, 4.5, 4.6.
//
// Shapes:   values [rows, n] bf16; packed [rows, row_bytes(format, n)] u8; unpacked [rows, n] f32
// Limits:   n a multiple of the format's group
// Numerics: pack rounds as the spec says, bit for bit; unpack is exact (every value is a bf16), the sign of an
//           E2M1 zero aside
// Batch:    row-pure
// Errors:   kInvalidArgument when a limit is broken
// Source:   spec/model.md 4.1, 4.5, 4.6
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/view.h"

namespace deepinfer::kernels {

enum class CacheFormat : std::uint8_t { kFp8E8m0, kFp4E4m3, kFp4E8m0 };

// Elements that share one scale: 32, 16, 32.
[[nodiscard]] std::int64_t group_size(CacheFormat format);
// Bytes of the codes of a row of n elements, and of codes and scales together.
[[nodiscard]] std::int64_t code_bytes(CacheFormat format, std::int64_t n);
[[nodiscard]] std::int64_t row_bytes(CacheFormat format, std::int64_t n);

struct PackArgs {
  CacheFormat format = CacheFormat::kFp8E8m0;
  View<const Bf16, 2> values;
  View<std::uint8_t, 2> packed;
};

[[nodiscard]] Status pack_limits(const PackArgs& args);
[[nodiscard]] Status pack_reference(const PackArgs& args);
[[nodiscard]] Status pack_cpu(const PackArgs& args);

// One row whose codes and scales lie apart (index keys are planar inside a page) or together.
struct UnpackRow {
  CacheFormat format;
  const std::uint8_t* codes;
  const std::uint8_t* scales;
  std::int64_t n;   // elements
  float* unpacked;  // [n]
};

void unpack_row_reference(const UnpackRow& row);
void unpack_row_cpu(const UnpackRow& row);

}  // namespace deepinfer::kernels
