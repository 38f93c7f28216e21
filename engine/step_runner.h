// Carries out the scheduler's plan for one step: gives and takes caches, runs the forward pass.
//
// Threads:  confined to the engine thread
// Lifetime: the KvCache and the Forward outlive it
// Errors:   those of the forward pass; the sequences of the step are then in an undefined state and
//           the caller ends them
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/kv/kv_cache.h"
#include "engine/model/forward.h"
#include "engine/scheduler/scheduler.h"
#include "engine/sequence.h"

namespace deepinfer::engine {

class StepRunner {
 public:
  struct Item {
    Sequence* sequence = nullptr;
    Scheduler::Run run;
  };

  StepRunner(KvCache& cache, Forward& forward, const ModelShape& shape)
      : cache_(cache), forward_(forward), shape_(shape) {}

  // Logits of the items whose run reaches the end, in their order: [count, vocabulary].
  [[nodiscard]] Result<kernels::View<const float, 2>> run(std::span<const Item> items);

  // Gives back the blocks and the slot of a sequence; it starts over or is done.
  void release(Sequence& sequence);

 private:
  [[nodiscard]] Status hold_caches(Sequence& sequence, const Scheduler::Run& run);
  [[nodiscard]] SequenceSlice slice_of(const Item& item) const;

  KvCache& cache_;
  Forward& forward_;
  const ModelShape& shape_;
  std::vector<SequenceSlice> slices_;
  std::vector<float> logits_;
};

}  // namespace deepinfer::engine
