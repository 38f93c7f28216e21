// The routed experts and the shared expert of a layer, for every token.
//
//   g = bf16(w1 x), u = bf16(w3 x); u = clamp(u, -limit, limit), g = min(g, limit)   (fp32)
//   v = weight * (silu(g) * u);  y_e = bf16(w2 quantize(bf16(v)))
//   y = bf16(fp32 sum of y_e over the chosen experts in ascending id, then the shared expert)
//
// The shared expert has FP8 weights and weight 1. quantize is quantize_activations. Rows are grouped
// by expert, so that a batch unpacks each expert's weights once.
//
// Shapes:   x [rows, hidden] f32, already rounded by quantize_activations; ids, weights [rows, top];
//           w1, w3 [inter, hidden], w2 [hidden, inter]; y [rows, hidden] bf16
// Limits:   hidden % 32 == 0, inter % 32 == 0; ids are distinct within a row and name an expert
// Numerics: fp32; linear.h's order inside the products. limit <= 0 means no clamp.
// Batch:    row-pure. Threads: parallel inside the products. Errors: kInvalidArgument
// Source:   spec/model.md 5.10
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/gemm/linear.h"
#include "kernels/scratch.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

struct ExpertWeights {
  WeightMatrix w1;  // gate projection
  WeightMatrix w3;  // up projection
  WeightMatrix w2;  // down projection
};

struct ExpertsArgs {
  View<const float, 2> x;
  View<const std::int32_t, 2> ids;
  View<const float, 2> weights;
  std::span<const ExpertWeights> experts;
  const ExpertWeights* shared = nullptr;  // null: none
  View<Bf16, 2> y;
  float limit = 10.0F;
};

[[nodiscard]] Status experts_limits(const ExpertsArgs& args);
[[nodiscard]] Status experts_reference(const ExpertsArgs& args);
[[nodiscard]] Status experts_cpu(const ExpertsArgs& args, Workers& workers, Scratch& scratch);

// The middle of an expert: h[r, i] = bf16(weight[r] * silu(min(g, limit)) * clamp(u)).
struct SwigluArgs {
  View<const Bf16, 2> gate;
  View<const Bf16, 2> up;
  const float* weights = nullptr;  // [rows]; null: 1
  View<Bf16, 2> h;
  float limit = 10.0F;
};
[[nodiscard]] Status swiglu_limits(const SwigluArgs& args);
[[nodiscard]] Status swiglu_reference(const SwigluArgs& args);
[[nodiscard]] Status swiglu_cpu(const SwigluArgs& args, Workers& workers);

}  // namespace deepinfer::kernels
