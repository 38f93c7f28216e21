#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/quant/cache_formats.h"

namespace deepinfer::kernels {
namespace {

bool is_fp8(CacheFormat format) { return format == CacheFormat::kFp8E8m0; }

// The least magnitude that a group's largest value counts as.
float floor_of(CacheFormat format) {
  switch (format) {
    case CacheFormat::kFp8E8m0:
      return 1e-4F;
    case CacheFormat::kFp4E4m3:
      return 6.0F * 0x1p-9F;
    case CacheFormat::kFp4E8m0:
      return 6.0F * 0x1p-126F;
  }
  return 0.0F;
}

std::uint8_t scale_byte(CacheFormat format, float largest) {
  const float floored = std::max(largest, floor_of(format));
  switch (format) {
    case CacheFormat::kFp8E8m0:
      return e8m0_ceil(floored / kE4m3Max);
    case CacheFormat::kFp4E4m3:
      return to_e4m3(floored / kE2m1Max);
    case CacheFormat::kFp4E8m0:
      return e8m0_ceil(floored / kE2m1Max);
  }
  return kE8m0Nan;
}

float scale_value(CacheFormat format, std::uint8_t byte) {
  return format == CacheFormat::kFp4E4m3 ? e4m3_to_float(byte) : e8m0_to_float(byte);
}

// A group with a value that is not finite gets a NaN scale and zero codes: it reads as NaN.
void pack_group(CacheFormat format, const Bf16* values, std::uint8_t* codes, std::uint8_t* scale) {
  const std::int64_t group = group_size(format);
  float largest = 0.0F;
  bool is_finite = true;
  for (std::int64_t i = 0; i < group; ++i) {
    const float value = to_float(values[i]);
    is_finite = is_finite && std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  *scale = scale_byte(format, largest);
  if (!is_finite) *scale = format == CacheFormat::kFp4E4m3 ? kE4m3Nan : kE8m0Nan;

  const float divisor = scale_value(format, *scale);
  const auto code = [&](std::int64_t i) {
    const float scaled = to_float(values[i]) / divisor;
    if (!is_finite) return std::uint8_t{0};
    return is_fp8(format) ? to_e4m3(scaled) : to_e2m1(scaled);
  };
  if (is_fp8(format)) {
    for (std::int64_t i = 0; i < group; ++i) codes[i] = code(i);
    return;
  }
  for (std::int64_t i = 0; i < group; i += 2) {
    codes[i / 2] = static_cast<std::uint8_t>(code(i) | (code(i + 1) << 4));
  }
}

}  // namespace

std::int64_t group_size(CacheFormat format) { return format == CacheFormat::kFp4E4m3 ? 16 : 32; }

std::int64_t code_bytes(CacheFormat format, std::int64_t n) { return is_fp8(format) ? n : n / 2; }

std::int64_t row_bytes(CacheFormat format, std::int64_t n) {
  return code_bytes(format, n) + n / group_size(format);
}

Status pack_limits(const PackArgs& args) {
  const std::int64_t rows = args.values.extent(0);
  const std::int64_t n = args.values.extent(1);
  if (rows < 0) return fail(ErrorCode::kInvalidArgument, "pack: rows is " + std::to_string(rows));
  if (n <= 0 || n % group_size(args.format) != 0) {
    return fail(ErrorCode::kInvalidArgument, "pack: n is " + std::to_string(n));
  }
  if (args.packed.extent(0) != rows || args.packed.extent(1) != row_bytes(args.format, n)) {
    return fail(ErrorCode::kInvalidArgument, "pack: shapes of values and packed disagree");
  }
  return Done{};
}

Status pack_reference(const PackArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, pack_limits(args));

  const std::int64_t n = args.values.extent(1);
  const std::int64_t group = group_size(args.format);
  for (std::int64_t row = 0; row < args.values.extent(0); ++row) {
    const Bf16* values = args.values.data() + row * n;
    std::uint8_t* codes = args.packed.data() + row * args.packed.extent(1);
    std::uint8_t* scales = codes + code_bytes(args.format, n);
    for (std::int64_t g = 0; g < n / group; ++g) {
      pack_group(args.format, values + g * group, codes + code_bytes(args.format, g * group),
                 scales + g);
    }
  }
  return Done{};
}

void unpack_row_reference(const UnpackRow& row) {
  for (std::int64_t i = 0; i < row.n; ++i) {
    const float scale = scale_value(row.format, row.scales[i / group_size(row.format)]);
    const std::uint8_t code = is_fp8(row.format) ? row.codes[i] : row.codes[i / 2];
    const auto nibble = static_cast<std::uint8_t>(i % 2 == 0 ? code & 0xfU : code >> 4U);
    row.unpacked[i] = scale * (is_fp8(row.format) ? e4m3_to_float(code) : e2m1_to_float(nibble));
  }
}

}  // namespace deepinfer::kernels
