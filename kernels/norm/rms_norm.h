// Root-mean-square layer normalisation of every row of a matrix.
//
//   y[r, c] = x[r, c] / sqrt(mean over c of x[r, c]^2 + epsilon) * weight[c]
//
// Shapes:   x, y     [rows, hidden]  bf16, row-major; y may be x (in place)
//           weight   [hidden]        bf16
// Limits:   rows >= 0; hidden > 0, a multiple of 8 (one 16-byte load); bases 16-byte aligned.
// Numerics: fp32 inside, one rounding to bf16 at the store. Within one bf16 step (2^-7 relative)
//           of the reference, which also rounds once: only the sums differ. epsilon may be as small as
//           1e-20. rms_norm_cpu adds as gemm/linear.h says: 16 partial sums, then halving.
// Batch:    row-pure. The sum is one tree over `hidden`, fixed by the block size: the bits of a row
//           depend on that row, the weight and epsilon, never on `rows` or on its place.
//           rms_norm_cpu has the same bits on every ISA that has a fused multiply-add.
// Cost:     reads x twice (the second time from cache when a row fits), writes y once; bound by
//           memory bandwidth.
// Errors:   kInvalidArgument when a limit is broken, before anything is launched; kDevice with the
//           runtime's words when the launch fails. Asynchronous: later faults surface on `stream`.
// Source:   Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", arXiv:1910.07467,
//           equation 4.
#pragma once

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/stream.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

struct RmsNormArgs {
  View<const Bf16, 2> x;
  View<const Bf16, 1> weight;
  View<Bf16, 2> y;
  float epsilon = 0.0F;  // dimensionless, added to the mean square; > 0
};

// Device pointers. Defined in builds with CUDA only.
[[nodiscard]] Status rms_norm(const RmsNormArgs& args, Stream stream);

// Host pointers, the same contract, one thread, written to be read: the definition the kernel is
// tested against.
[[nodiscard]] Status rms_norm_reference(const RmsNormArgs& args);

// Host pointers, the fast path; parallel over rows.
[[nodiscard]] Status rms_norm_cpu(const RmsNormArgs& args, Workers& workers);

// The limits above; every entry point checks them first.
[[nodiscard]] Status rms_norm_limits(const RmsNormArgs& args);

}  // namespace deepinfer::kernels
