#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gemm/linear.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kScaleBlock = 32;

std::int64_t blocks(std::int64_t n) { return (n + kScaleBlock - 1) / kScaleBlock; }

bool has_scales(WeightFormat format) {
  return format == WeightFormat::kFp8Block32 || format == WeightFormat::kFp4Group32;
}

// Bytes of `count` elements of a row.
std::int64_t element_bytes(WeightFormat format, std::int64_t count) {
  switch (format) {
    case WeightFormat::kFp8Block32:
      return count;
    case WeightFormat::kFp4Group32:
      return count / 2;
    case WeightFormat::kBf16:
      return count * 2;
    case WeightFormat::kF32:
      return count * 4;
  }
  return 0;
}

float weight_at(const WeightMatrix& weight, std::int64_t n, std::int64_t k) {
  const std::int64_t at = n * weight.cols + k;
  switch (weight.format) {
    case WeightFormat::kFp8Block32: {
      const auto* codes = static_cast<const std::uint8_t*>(weight.data);
      const std::int64_t block = n / kScaleBlock * blocks(weight.cols) + k / kScaleBlock;
      return e4m3_to_float(codes[at]) * e8m0_to_float(weight.scales[block]);
    }
    case WeightFormat::kFp4Group32: {
      const std::uint8_t pair = static_cast<const std::uint8_t*>(weight.data)[at / 2];
      const auto nibble = static_cast<std::uint8_t>(k % 2 == 0 ? pair & 0xfU : pair >> 4U);
      return e2m1_to_float(nibble) * e8m0_to_float(weight.scales[at / kScaleBlock]);
    }
    case WeightFormat::kBf16:
      return to_float(static_cast<const Bf16*>(weight.data)[at]);
    case WeightFormat::kF32:
      return static_cast<const float*>(weight.data)[at];
  }
  return 0.0F;
}

Status weight_limits(const WeightMatrix& weight) {
  const std::int64_t multiple = weight.format == WeightFormat::kFp4Group32 ? 32 : 16;
  if (weight.outputs <= 0) {
    return fail(ErrorCode::kInvalidArgument,
                "linear: outputs is " + std::to_string(weight.outputs));
  }
  if (weight.cols <= 0 || weight.cols % multiple != 0) {
    return fail(ErrorCode::kInvalidArgument, "linear: cols is " + std::to_string(weight.cols));
  }
  if (weight.data == nullptr || has_scales(weight.format) != (weight.scales != nullptr)) {
    return fail(ErrorCode::kInvalidArgument, "linear: weight or scales missing, or too many");
  }
  return Done{};
}

}  // namespace

Status linear_limits(const LinearArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, weight_limits(args.weight));
  if (args.x.extent(0) < 0 || args.x.extent(1) != args.weight.cols) {
    return fail(ErrorCode::kInvalidArgument, "linear: x is " + std::to_string(args.x.extent(0)) +
                                                 " x " + std::to_string(args.x.extent(1)) +
                                                 ", cols is " + std::to_string(args.weight.cols));
  }
  if ((args.y_f32 == nullptr) == (args.y_bf16 == nullptr)) {
    return fail(ErrorCode::kInvalidArgument, "linear: exactly one y must be set");
  }
  if (args.y_stride != 0 && args.y_stride < args.weight.outputs) {
    return fail(ErrorCode::kInvalidArgument,
                "linear: y_stride is " + std::to_string(args.y_stride));
  }
  return Done{};
}

Status linear_reference(const LinearArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, linear_limits(args));

  const std::int64_t stride = args.y_stride == 0 ? args.weight.outputs : args.y_stride;
  std::vector<float> row(static_cast<std::size_t>(args.weight.cols));
  for (std::int64_t n = 0; n < args.weight.outputs; ++n) {
    unpack_weight_row(args.weight, n, row.data());
    for (std::int64_t r = 0; r < args.x.extent(0); ++r) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < args.weight.cols; ++k) {
        sum += static_cast<double>(args.x(r, k)) * row[static_cast<std::size_t>(k)];
      }
      if (args.y_f32 != nullptr) {
        args.y_f32[r * stride + n] = static_cast<float>(sum);
      } else {
        args.y_bf16[r * stride + n] = to_bf16(static_cast<float>(sum));
      }
    }
  }
  return Done{};
}

void unpack_weight_row(const WeightMatrix& weight, std::int64_t n, float* row) {
  for (std::int64_t k = 0; k < weight.cols; ++k) row[k] = weight_at(weight, n, k);
}

WeightMatrix slice_outputs(const WeightMatrix& weight, std::int64_t first, std::int64_t count) {
  WeightMatrix slice = weight;
  slice.data = static_cast<const std::uint8_t*>(weight.data) +
               element_bytes(weight.format, first * weight.cols);
  if (weight.scales != nullptr) {
    const std::int64_t scale_rows =
        weight.format == WeightFormat::kFp8Block32 ? first / kScaleBlock : first;
    slice.scales = weight.scales + scale_rows * blocks(weight.cols);
  }
  slice.outputs = count;
  return slice;
}

}  // namespace deepinfer::kernels
