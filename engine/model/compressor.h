// The KV sources: from a layer's normed input to its global entries and index keys in the blocks.
//
// Ratio 1 writes one entry per token. Ratio 2 pools tokens 2j and 2j + 1; the fp32 rows of every
// token go to the open-group ring too, so that a group may begin in one step and end in the next.
//
// Shapes:   x [rows, hidden] bf16, the attention input
// Errors:   those of the operations
// Source:   spec/model.md 5.7, 5.12
#pragma once

#include "base/result.h"
#include "engine/model/linear_calls.h"
#include "engine/model/step.h"
#include "engine/model/weights.h"

namespace deepinfer::engine {

[[nodiscard]] Status write_global_entries(const StepTools& tools, const StepRows& rows,
                                          std::int64_t layer, const LayerWeights& weights,
                                          const Rows<kernels::Bf16>& x);

}  // namespace deepinfer::engine
