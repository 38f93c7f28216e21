#include "engine/scheduler/scheduler.h"

#include <algorithm>
#include <iterator>

#include "engine/kv/cache_layout.h"

namespace deepinfer::engine {
namespace {

std::int64_t blocks_for(std::int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

}  // namespace

void Scheduler::add(SequenceKey sequence, std::int64_t priority, std::int64_t length) {
  const Entry entry{.rank = {priority, arrivals_++}, .length = length};
  entries_.emplace(sequence, entry);
  waiting_.emplace(entry.rank, sequence);
}

Scheduler::Plan Scheduler::plan() {
  Plan plan;
  Budget budget{.tokens = options_.max_batch_tokens, .placed = {}};
  plan_running(plan, budget, /*prompts=*/false);
  plan_running(plan, budget, /*prompts=*/true);
  // Who was preempted in this very plan waits for the next one: admitting it would take the blocks
  // back that were just freed.
  if (plan.preempted.empty()) admit(plan, budget);
  return plan;
}

void Scheduler::plan_running(Plan& plan, Budget& budget, bool prompts) {
  // A copy: preemption takes sequences out of running_ while we walk.
  const std::vector<std::pair<Rank, SequenceKey>> order(running_.begin(), running_.end());
  for (const auto& item : order) {
    if (running_.count(item) == 0 || budget.placed.count(item.second) != 0) continue;
    const Entry& entry = entries_.at(item.second);
    if ((entry.length - entry.computed > 1) != prompts) continue;
    const std::int64_t tokens = chunk(entry, budget);
    if (tokens == 0) continue;
    if (!make_room(plan, budget, entry, blocks_for(entry.computed + tokens))) {
      // A prompt may wait with what it has while others advance; a lone sequence must start over.
      if (!prompts || budget.placed.empty()) preempt(plan, item.second);
      continue;
    }
    place(plan, budget, item.second, /*is_new=*/false);
  }
}

void Scheduler::admit(Plan& plan, Budget& budget) {
  while (!waiting_.empty() && running() < options_.max_sequences && budget.tokens > 0) {
    const auto first = *waiting_.begin();
    const Entry& entry = entries_.at(first.second);
    // Room for all it knows, so that admission is not followed by a preemption at once.
    if (blocks_for(entry.length) > free_blocks_) return;
    waiting_.erase(waiting_.begin());
    running_.insert(first);
    place(plan, budget, first.second, /*is_new=*/true);
  }
}

std::int64_t Scheduler::chunk(const Entry& entry, const Budget& budget) const {
  return std::min({entry.length - entry.computed, options_.prefill_chunk, budget.tokens});
}

bool Scheduler::make_room(Plan& plan, const Budget& budget, const Entry& entry,
                          std::int64_t blocks) {
  while (blocks - entry.blocks > free_blocks_) {
    const auto worst = std::find_if(running_.rbegin(), running_.rend(), [&](const auto& item) {
      return budget.placed.count(item.second) == 0;
    });
    if (worst == running_.rend() || worst->first <= entry.rank) return false;
    preempt(plan, worst->second);
  }
  return true;
}

void Scheduler::place(Plan& plan, Budget& budget, SequenceKey sequence, bool is_new) {
  Entry& entry = entries_.at(sequence);
  const std::int64_t tokens = chunk(entry, budget);
  const std::int64_t blocks = std::max(entry.blocks, blocks_for(entry.computed + tokens));
  free_blocks_ -= blocks - entry.blocks;
  entry.blocks = blocks;
  budget.tokens -= tokens;
  budget.placed.insert(sequence);
  plan.runs.push_back({.sequence = sequence,
                       .tokens = tokens,
                       .blocks = blocks,
                       .reaches_end = entry.computed + tokens == entry.length,
                       .is_new = is_new});
}

void Scheduler::preempt(Plan& plan, SequenceKey sequence) {
  Entry& entry = entries_.at(sequence);
  running_.erase({entry.rank, sequence});
  waiting_.emplace(entry.rank, sequence);
  free_blocks_ += entry.blocks;
  entry.blocks = 0;
  entry.computed = 0;
  ++preemptions_;
  plan.preempted.push_back(sequence);
}

void Scheduler::advance(SequenceKey sequence, std::int64_t tokens, std::int64_t appended) {
  Entry& entry = entries_.at(sequence);
  entry.computed += tokens;
  entry.length += appended;
}

void Scheduler::remove(SequenceKey sequence) {
  const auto found = entries_.find(sequence);
  if (found == entries_.end()) return;
  free_blocks_ += found->second.blocks;
  running_.erase({found->second.rank, sequence});
  waiting_.erase({found->second.rank, sequence});
  entries_.erase(found);
}

}  // namespace deepinfer::engine
