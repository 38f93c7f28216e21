// The mixture-of-experts sub-block of one layer: router, chosen experts, shared expert.
//
// Shapes:   x, y [rows, hidden] bf16
// Batch:    row-pure
// Errors:   those of the operations
// Source:   spec/model.md 5.10
#pragma once

#include "base/result.h"
#include "engine/model/linear_calls.h"
#include "engine/model/step.h"
#include "engine/model/weights.h"

namespace deepinfer::engine {

// `y` lies in memory of the caller.
[[nodiscard]] Status feed_forward(const StepTools& tools, std::int64_t layer,
                                  const LayerWeights& weights, const Rows<kernels::Bf16>& x,
                                  const Rows<kernels::Bf16>& y);

}  // namespace deepinfer::engine
