#include "engine/step_runner.h"

#include <algorithm>
#include <utility>

namespace deepinfer::engine {

Result<kernels::View<const float, 2>> StepRunner::run(std::span<const Item> items) {
  slices_.clear();
  std::int64_t wanted = 0;
  for (const Item& item : items) {
    DEEPINFER_TRY([[maybe_unused]] const Done held, hold_caches(*item.sequence, item.run));
    slices_.push_back(slice_of(item));
    wanted += slices_.back().logit_rows;
  }
  logits_.resize(static_cast<std::size_t>(wanted * shape_.vocabulary));
  DEEPINFER_TRY(
      [[maybe_unused]] const Done done,
      forward_.run(slices_, kernels::View<float, 2>(logits_.data(), wanted, shape_.vocabulary)));
  for (const Item& item : items) item.sequence->computed += item.run.tokens;
  return kernels::View<const float, 2>(logits_.data(), wanted, shape_.vocabulary);
}

Status StepRunner::hold_caches(Sequence& sequence, const Scheduler::Run& run) {
  if (!sequence.slot.has_value()) {
    DEEPINFER_TRY(sequence.slot, cache_.acquire_slot());
  }
  const auto held = static_cast<std::int64_t>(sequence.blocks.size());
  if (run.blocks <= held) return Done{};
  DEEPINFER_TRY(PageLease lease, cache_.blocks().acquire((run.blocks - held) * kBlockTokens));
  for (const PageId page : lease.pages()) sequence.blocks.push_back(cache_.block(page));
  sequence.leases.push_back(std::move(lease));
  return Done{};
}

SequenceSlice StepRunner::slice_of(const Item& item) const {
  const Sequence& sequence = *item.sequence;
  const auto begin = static_cast<std::size_t>(sequence.computed);
  const std::size_t look_back = std::min(
      begin, static_cast<std::size_t>(std::max<std::int64_t>(shape_.engram.max_ngram, 1) - 1));
  return {.tokens = sequence.tokens().subspan(begin, static_cast<std::size_t>(item.run.tokens)),
          .before = sequence.tokens().subspan(begin - look_back, look_back),
          .begin = sequence.computed,
          .slot = cache_.slot(*sequence.slot),
          .blocks = sequence.blocks,
          .logit_rows = item.run.reaches_end ? 1 : 0};
}

void StepRunner::release(Sequence& sequence) {
  sequence.computed = 0;
  sequence.blocks.clear();
  sequence.leases.clear();
  if (!sequence.slot.has_value()) return;
  cache_.release_slot(*sequence.slot);
  sequence.slot.reset();
}

}  // namespace deepinfer::engine
