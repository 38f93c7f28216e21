// The attention sub-block of one layer: from its normed input to its output, caches written.
//
// Order: queries, this step's window entries, global entries and selection where the layer owns
// them, sparse attention, inverse rotation, grouped output projection; then the last window entries
// of every slice go to its ring.
//
// Shapes:   x, y [rows, hidden] bf16
// Batch:    row-pure
// Errors:   those of the operations
// Source:   spec/model.md 5.6 to 5.9
#pragma once

#include "base/result.h"
#include "engine/model/linear_calls.h"
#include "engine/model/step.h"
#include "engine/model/weights.h"

namespace deepinfer::engine {

// `y` lies in memory of the caller.
[[nodiscard]] Status attention(const StepTools& tools, const StepRows& rows, std::int64_t layer,
                               const LayerWeights& weights, const Rows<kernels::Bf16>& x,
                               const Rows<kernels::Bf16>& y);

// Copies the last ring_slots window entries of every slice into the ring of `layer` (a backbone
// layer, or layers + i for draft layer i). fresh [rows, window_entry].
void write_rings(const StepTools& tools, const StepRows& rows, std::int64_t layer,
                 const Rows<std::uint8_t>& fresh);

// Normalises, rotates and packs projected window rows; kv is overwritten.
[[nodiscard]] Result<Rows<std::uint8_t>> pack_window_entries(
    const StepTools& tools, const Rows<kernels::Bf16>& kv,
    kernels::View<const kernels::Bf16, 1> norm, const RopeRows& rope);

}  // namespace deepinfer::engine
