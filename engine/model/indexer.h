// The indexer of a layer: its queries, its head weights, and the selection they make.
//
// Writes rows.selected, and rows.candidates where the layer is their source.
//
// Shapes:   x [rows, hidden] bf16 attention input; query_input [rows, q_rank] f32, quantised
// Errors:   those of the operations
// Source:   spec/model.md 5.8
#pragma once

#include "base/result.h"
#include "engine/model/linear_calls.h"
#include "engine/model/step.h"
#include "engine/model/weights.h"

namespace deepinfer::engine {

[[nodiscard]] Status select_global_entries(const StepTools& tools, const StepRows& rows,
                                           std::int64_t layer, const IndexerWeights& weights,
                                           const Rows<kernels::Bf16>& x,
                                           const Rows<float>& query_input);

}  // namespace deepinfer::engine
