// y = x W^T for every stored weight format, weights unpacked on the fly.
//
//   y[r, n] = sum over k of x[r, k] * W[n, k]
//
// Shapes:   x [rows, cols] f32: an activation rounded by quantize_activations for FP8 and FP4
//           weights, a widened bf16 row for bf16 weights, anything for f32 weights
//           W [outputs, cols] in `format`; y [rows, outputs] f32 or bf16 (rounded once)
// Formats:  kFp8Block32  E4M3 bytes [outputs, cols]; E8M0 scales [ceil(outputs/32), ceil(cols/32)]
//           kFp4Group32  E2M1 pairs [outputs, cols/2], even element in the low nibble;
//                        E8M0 scales [outputs, cols/32]
//           kBf16        [outputs, cols];    kF32  [outputs, cols]; no scales
// Limits:   cols % 16 == 0 (% 32 for kFp4Group32); outputs > 0; rows >= 0
// Numerics: fp32 accumulation. linear_cpu adds with 16 partial sums (element k goes to sum k mod 16,
//           k ascending, one fused multiply-add each), then ((0+8)+(4+12)) style halving: i with
//           i+8, then i with i+4, i with i+2, i with i+1. Products of FP8 and FP4 operands are exact.
//           |error| <= 5e-7 * sum |x w| for cols <= 5120.
// Batch:    row-pure; the bits are the same for every number of rows and threads and for every ISA
//           that has a fused multiply-add
// Threads:  parallel over outputs
// Errors:   kInvalidArgument when a limit is broken
// Source:   spec/model.md 4.2 to 4.4, 5.3
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

enum class WeightFormat : std::uint8_t { kFp8Block32, kFp4Group32, kBf16, kF32 };

// A weight matrix as it lies in the checkpoint; points into the mapped file, owns nothing.
struct WeightMatrix {
  WeightFormat format = WeightFormat::kBf16;
  const void* data = nullptr;
  const std::uint8_t* scales = nullptr;  // E8M0; null for kBf16 and kF32
  std::int64_t outputs = 0;              // rows of W
  std::int64_t cols = 0;                 // logical elements of a row of W
};

struct LinearArgs {
  View<const float, 2> x{nullptr, 0, 0};
  WeightMatrix weight;
  // Exactly one of the two is set: [rows, outputs], row-major.
  float* y_f32 = nullptr;
  Bf16* y_bf16 = nullptr;
  std::int64_t y_stride = 0;  // elements from row to row of y; 0 means outputs
};

[[nodiscard]] Status linear_limits(const LinearArgs& args);
[[nodiscard]] Status linear_reference(const LinearArgs& args);
[[nodiscard]] Status linear_cpu(const LinearArgs& args, Workers& workers);

// Row n of a weight matrix as fp32 numbers [cols], exact: for tools and tests.
void unpack_weight_row(const WeightMatrix& weight, std::int64_t n, float* row);

// Output rows [first, first + count) of a matrix, as a matrix: one group of wo_a. For kFp8Block32
// `first` is a multiple of 32.
[[nodiscard]] WeightMatrix slice_outputs(const WeightMatrix& weight, std::int64_t first,
                                         std::int64_t count);

}  // namespace deepinfer::kernels
