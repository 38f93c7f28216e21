// One step through all layers: a list of calls, in order. Prompt chunks and single tokens take the
// same path, so a row's result depends on its sequence alone.
//
// Shapes:   logits [sum of logit_rows, vocabulary] f32, slices in order
// Numerics: spec/model.md 5; the rounding points of 5.11
// Batch:    row-pure
// Threads:  confined to one thread; rows of an operation run on `threads` workers
// Lifetime: the Weights outlive the Forward
// Errors:   kInvalidArgument from an operation whose limits a checkpoint's shape breaks
// Source:   spec/model.md 5.2 to 5.4, 8.1 (steps 1 and 2)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/kv/cache_layout.h"
#include "engine/model/linear_calls.h"
#include "engine/model/ops.h"
#include "engine/model/step.h"
#include "engine/model/weights.h"

namespace deepinfer::engine {

class Forward {
 public:
  struct Parts {
    const ModelShape& shape;
    const Weights& weights;
    const CacheLayout& layout;
    std::vector<std::int32_t> token_map;  // Engram: [vocabulary] compressed ids
    Ops ops;
    int threads = 1;
    bool write_draft_state = false;  // the drafter's window entries (spec 8.1, steps 1 and 2)
  };

  explicit Forward(Parts parts);

  // Writes the caches of every slice and the wanted logits. `observer` may be null.
  [[nodiscard]] Status run(std::span<const SequenceSlice> slices, kernels::View<float, 2> logits,
                           StepObserver* observer = nullptr);

  // The parts of run(), for tests that feed a layer with a stored input.
  struct Step {
    StepRows rows;
    Rows<std::int32_t> engram_history;
    Rows<kernels::Bf16> draft_input;  // [rows, targets * hidden]
  };
  [[nodiscard]] Result<Step> begin(const StepTools& tools, std::span<const SequenceSlice> slices);
  [[nodiscard]] Status run_layer(const StepTools& tools, const Step& step, std::int64_t layer);
  [[nodiscard]] Status write_draft_window(const StepTools& tools, const Step& step) const;
  [[nodiscard]] StepTools tools(StepObserver* observer);

 private:
  [[nodiscard]] Status embed(const StepRows& rows) const;
  [[nodiscard]] Result<RopeRows> rope_rows(const StepTools& tools, const StepRows& rows,
                                           const std::vector<float>& frequencies) const;
  [[nodiscard]] Status project_logits(const StepTools& tools, const Step& step,
                                      kernels::View<float, 2> logits) const;

  const Parts parts_;
  const std::vector<float> window_frequencies_;
  const std::vector<float> compress_frequencies_;
  kernels::Workers workers_;
  kernels::Scratch scratch_;
};

}  // namespace deepinfer::engine
