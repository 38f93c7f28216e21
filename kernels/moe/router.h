// Chooses the experts of every token and their weights.
//
//   s = sqrt(softplus(logits / temperature)), softplus(v) = v for v > 20
//   ids = the `top` greatest of s + bias, in falling order, ties to the lower id
//   weight = s of the chosen / (their sum + 1e-20) * factor          (without the bias)
//
// Shapes:   logits [rows, experts] f32; bias [experts] f32; ids [rows, top] i32; weights [rows, top]
// Limits:   0 < top <= experts
// Numerics: fp32, weights summed in the order of ids; within 2e-6 of the fp64 reference
// Batch:    row-pure. Threads: parallel over rows. Errors: kInvalidArgument when a limit is broken
// Source:   spec/model.md 5.10
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

struct RouteArgs {
  View<const float, 2> logits;
  View<const float, 1> bias;
  View<std::int32_t, 2> ids;
  View<float, 2> weights;
  float factor = 1.5F;
  float temperature = 1.0F;
};

[[nodiscard]] Status route_limits(const RouteArgs& args);
[[nodiscard]] Status route_reference(const RouteArgs& args);
[[nodiscard]] Status route_cpu(const RouteArgs& args, Workers& workers);

}  // namespace deepinfer::kernels
