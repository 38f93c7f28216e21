// The scheduler: order, chunks, preemption, and invariants over random histories.
#include "engine/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/kv/cache_layout.h"

namespace deepinfer::engine {
namespace {

Scheduler::Options small_options() {
  return {.max_sequences = 4, .max_batch_tokens = 64, .prefill_chunk = 32, .blocks = 8};
}

TEST(Scheduler, CutsAPromptIntoChunksAndSaysWhenItsEndRuns) {
  Scheduler scheduler(small_options());
  scheduler.add(SequenceKey{1}, 0, 70);

  std::vector<std::int64_t> chunks;
  for (int step = 0; step < 3; ++step) {
    const auto plan = scheduler.plan();
    ASSERT_EQ(plan.runs.size(), 1U);
    chunks.push_back(plan.runs[0].tokens);
    EXPECT_EQ(plan.runs[0].reaches_end, step == 2);
    EXPECT_EQ(plan.runs[0].is_new, step == 0);
    scheduler.advance(SequenceKey{1}, plan.runs[0].tokens, plan.runs[0].reaches_end ? 1 : 0);
  }

  EXPECT_EQ(chunks, (std::vector<std::int64_t>{32, 32, 6}));
  EXPECT_EQ(scheduler.plan().runs.at(0).tokens, 1);
}

TEST(Scheduler, RunsLowerPriorityNumbersFirstAndEqualOnesByArrival) {
  auto options = small_options();
  options.max_sequences = 1;
  Scheduler scheduler(options);
  scheduler.add(SequenceKey{1}, 5, 4);
  scheduler.add(SequenceKey{2}, 0, 4);
  scheduler.add(SequenceKey{3}, 0, 4);

  std::vector<SequenceKey> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(scheduler.plan().runs.at(0).sequence);
    scheduler.remove(order.back());
  }

  EXPECT_EQ(order, (std::vector<SequenceKey>{SequenceKey{2}, SequenceKey{3}, SequenceKey{1}}));
}

TEST(Scheduler, PreemptsTheLowestRankWhenBlocksRunOut) {
  auto options = small_options();
  options.blocks = 2;
  Scheduler scheduler(options);
  scheduler.add(SequenceKey{1}, 0, 1);
  scheduler.add(SequenceKey{2}, 0, 1);
  bool preempted = false;
  for (int step = 0; step < 200 && !preempted; ++step) {
    const auto plan = scheduler.plan();
    for (const auto& run : plan.runs) scheduler.advance(run.sequence, run.tokens, 1);
    preempted = !plan.preempted.empty();
    if (preempted) {
      EXPECT_EQ(plan.preempted, (std::vector<SequenceKey>{SequenceKey{2}}));
    }
  }
  EXPECT_TRUE(preempted);
  EXPECT_EQ(scheduler.running(), 1);
  EXPECT_EQ(scheduler.waiting(), 1);
}

// Random arrivals, lengths, cancels and a cache that is always too small: every sequence that is
// not cancelled ends, budgets hold, blocks are conserved.
class RandomHistory : public testing::TestWithParam<unsigned> {
 protected:
  struct Live {
    std::int64_t known = 0;
    std::int64_t computed = 0;
    std::int64_t target = 0;
    std::int64_t blocks = 0;
  };

  void arrive() {
    const std::int64_t prompt = 1 + pick(400);
    const SequenceKey key{next_++};
    live_[key] = {.known = prompt, .target = prompt + 1 + pick(300)};
    scheduler_.add(key, pick(3), prompt);
  }

  void apply(const Scheduler::Plan& plan) {
    for (const SequenceKey key : plan.preempted) {
      live_[key].computed = 0;
      live_[key].blocks = 0;
    }
    std::int64_t tokens = 0;
    for (const auto& run : plan.runs) {
      Live& sequence = live_.at(run.sequence);
      tokens += run.tokens;
      ASSERT_GT(run.tokens, 0);
      ASSERT_LE(run.tokens, kOptions.prefill_chunk);
      sequence.computed += run.tokens;
      sequence.blocks = run.blocks;
      ASSERT_LE(sequence.computed, sequence.known);
      ASSERT_GE(sequence.blocks * kBlockTokens, sequence.computed);
      ASSERT_EQ(run.reaches_end, sequence.computed == sequence.known);
      if (run.reaches_end) ++sequence.known;
      scheduler_.advance(run.sequence, run.tokens, run.reaches_end ? 1 : 0);
    }
    ASSERT_LE(tokens, kOptions.max_batch_tokens);
    ASSERT_LE(scheduler_.running(), kOptions.max_sequences);
  }

  void retire() {
    std::erase_if(live_, [this](const auto& item) {
      const bool ends = item.second.known >= item.second.target || pick(500) == 0;
      if (ends) scheduler_.remove(item.first);
      return ends;
    });
    std::int64_t held = 0;
    for (const auto& item : live_) held += item.second.blocks;
    ASSERT_EQ(scheduler_.free_blocks() + held, kOptions.blocks);
  }

  std::int64_t pick(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(generator_);
  }

  static constexpr Scheduler::Options kOptions{
      .max_sequences = 5, .max_batch_tokens = 96, .prefill_chunk = 64, .blocks = 9};
  std::mt19937 generator_{GetParam()};
  Scheduler scheduler_{kOptions};
  std::map<SequenceKey, Live> live_;
  std::uint64_t next_ = 1;
};

TEST_P(RandomHistory, EndsEverySequenceWithinItsBudgets) {
  for (int step = 0; step < 400; ++step) {
    if (pick(6) == 0) arrive();
    apply(scheduler_.plan());
    retire();
    if (HasFatalFailure()) return;
  }
  int idle = 0;
  for (int step = 0; step < 100000 && !live_.empty(); ++step) {
    const auto plan = scheduler_.plan();
    idle = plan.runs.empty() ? idle + 1 : 0;
    ASSERT_LT(idle, 2) << "nothing runs though sequences wait";
    apply(plan);
    retire();
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(live_.empty());
  EXPECT_EQ(scheduler_.free_blocks(), kOptions.blocks);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHistory, testing::Range(0U, 40U));

}  // namespace
}  // namespace deepinfer::engine
