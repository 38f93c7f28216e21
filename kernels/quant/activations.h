// The rounding of activations before a GEMM with FP8 or FP4 weights (spec 4.1), and plain widening.
//
//   per group of 32: amax = max(max |x|, 1e-4); s = 2^ceil(log2(amax / 448));
//   y = s * E4M3(clamp(x / s, -448, 448))
//
// On the host a rounded activation is kept as the fp32 number that its code and scale stand for.
//
// Shapes:   x [rows, n] bf16; y [rows, n] f32
// Limits:   n % 32 == 0 (quantize_activations); y does not overlap x
// Numerics: exact: both entry points give the same bits, subnormal codes kept
// Batch:    row-pure
// Errors:   kInvalidArgument when a limit is broken
// Source:   spec/model.md 4.1
#pragma once

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

struct ActivationArgs {
  View<const Bf16, 2> x;
  View<float, 2> y;
};

[[nodiscard]] Status quantize_activations_limits(const ActivationArgs& args);
[[nodiscard]] Status quantize_activations_reference(const ActivationArgs& args);
[[nodiscard]] Status quantize_activations_cpu(const ActivationArgs& args, Workers& workers);

// y = x, widened to fp32.
[[nodiscard]] Status widen_cpu(const ActivationArgs& args, Workers& workers);

}  // namespace deepinfer::kernels
