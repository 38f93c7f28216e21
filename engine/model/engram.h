// The n-gram memory of a layer: adds what the last tokens recall to the stream.
//
// Shapes:   token_map [vocabulary] compressed ids; the stream of `rows` in place
// Errors:   those of the operations
// Source:   spec/model.md 5.5, 7
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "engine/model/linear_calls.h"
#include "engine/model/step.h"
#include "engine/model/weights.h"

namespace deepinfer::engine {

// Column s of row r: the compressed id of the token s places before row r's, or the pad's where the
// sequence has not begun. [rows, max_ngram] i32.
[[nodiscard]] Rows<std::int32_t> engram_history(const StepTools& tools, const StepRows& rows,
                                                std::span<const std::int32_t> token_map);

[[nodiscard]] Status apply_engram(const StepTools& tools, const StepRows& rows, std::int64_t layer,
                                  const EngramWeights& weights, const Rows<std::int32_t>& history);

}  // namespace deepinfer::engine
