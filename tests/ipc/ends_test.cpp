// Both ends together, as long as everybody keeps to the rules.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

std::vector<std::uint64_t> words(std::size_t count) {
  std::vector<std::uint64_t> made(count);
  std::iota(made.begin(), made.end(), 0xABCD000000000000);
  return made;
}

std::uint16_t code(CompletionKind kind) { return static_cast<std::uint16_t>(kind); }

class Ends : public SharedPair, public testing::Test {
 protected:
  // True when the outcome is "done", false when it is "not now"; an error fails the test.
  static bool done(const Result<bool>& outcome) {
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return outcome.has_value() && *outcome;
  }
  bool submit(std::uint64_t user_data) {
    return done(client().submit(Operation::kNothing, user_data, {}));
  }
  bool take() { return done(daemon().take(submission)); }
  bool publish(std::uint64_t user_data, std::span<const std::byte> bytes = {}) {
    return done(daemon().publish(CompletionKind::kResult, user_data, bytes));
  }
  bool next() { return done(client().next(completion, payload)); }

  Submission submission;
  Completion completion;
  std::vector<std::byte> payload;
};

TEST_F(Ends, GiveNothingWhenNothingWasWritten) {
  EXPECT_FALSE(take());
  EXPECT_FALSE(next());
}

TEST_F(Ends, CarryADescriptorInTheSlot) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kMaxInlineBytes / 8}) {
    ASSERT_TRUE(done(client().submit(Operation::kSubmit, 42 + count, words(count))));
    ASSERT_TRUE(take());
    EXPECT_EQ(submission.operation, Operation::kSubmit);
    EXPECT_EQ(submission.user_data, 42 + count);
    EXPECT_EQ(submission.descriptor, words(count));
    EXPECT_EQ(submission.problem, "");
  }
}

TEST_F(Ends, CarryADescriptorInTheArena) {
  const auto descriptor = words(2000);
  const auto span = client().arena().allocate(descriptor.size() * 8);
  ASSERT_TRUE(span.has_value());
  std::memcpy(client().arena().bytes_of(*span).data(), descriptor.data(), span->bytes);

  ASSERT_TRUE(done(client().submit_from_arena(Operation::kSubmit, 7, *span)));
  ASSERT_TRUE(take());
  EXPECT_EQ(submission.descriptor, descriptor);
  EXPECT_EQ(submission.problem, "");
}

TEST_F(Ends, CarryACancellation) {
  ASSERT_TRUE(done(client().submit(Operation::kCancel, 7, {})));
  ASSERT_TRUE(take());
  EXPECT_EQ(submission.operation, Operation::kCancel);
  EXPECT_EQ(submission.user_data, 7U);
}

TEST_F(Ends, RefuseADescriptorThatIsTooLongForTheSlotAndGoOn) {
  EXPECT_FAILS(client().submit(Operation::kSubmit, 1, words(kMaxInlineBytes / 8 + 1)),
               ErrorCode::kInvalidArgument);
  EXPECT_FALSE(take());
  ASSERT_TRUE(done(client().submit(Operation::kSubmit, 2, words(3))));
  ASSERT_TRUE(take());
  EXPECT_EQ(submission.user_data, 2U);
}

TEST_F(Ends, RefuseADescriptorThatLiesNowhereInTheArena) {
  for (const Span span : {Span{kSmall.arena_bytes, 8}, Span{~std::uint64_t{0} - 7, 8},
                          Span{0, kMaxDescriptorBytes + 8}, Span{0, 7}, Span{4, 8}}) {
    EXPECT_FAILS(client().submit_from_arena(Operation::kSubmit, 1, span),
                 ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(take());
}

TEST_F(Ends, TakeSpansOfTheArenaOnly) {
  const auto content = pattern(1000, 1);
  const auto span = client().arena().allocate(content.size());
  ASSERT_TRUE(span.has_value());
  std::ranges::copy(content, client().arena().bytes_of(*span).begin());

  std::vector<std::byte> copy(content.size());
  ASSERT_OK(daemon().copy_span(*span, copy));
  EXPECT_EQ(copy, content);
  ASSERT_OK(daemon().copy_span({0, 0}, {}));
  ASSERT_OK(daemon().copy_span({kSmall.arena_bytes - copy.size(), copy.size()}, copy));
  const std::uint64_t bytes = copy.size();
  for (const Span outside :
       {Span{kSmall.arena_bytes - bytes + 1, bytes}, Span{kSmall.arena_bytes, bytes},
        Span{~std::uint64_t{0} - 7, bytes}, Span{~std::uint64_t{0}, bytes}, Span{0, bytes + 1},
        Span{0, ~std::uint64_t{0}}}) {
    EXPECT_FAILS(daemon().copy_span(outside, copy), ErrorCode::kInvalidArgument);
  }
}

TEST_F(Ends, SayThatTheRingOfSubmissionsIsFull) {
  for (std::uint64_t i = 0; i < kSmall.submission_entries; ++i) ASSERT_TRUE(submit(i));
  EXPECT_FALSE(submit(99));
  ASSERT_TRUE(take());
  EXPECT_EQ(submission.user_data, 0U);
  EXPECT_TRUE(submit(4));
  EXPECT_FALSE(submit(99));
  for (std::uint64_t i = 1; i < 5; ++i) {
    ASSERT_TRUE(take());
    EXPECT_EQ(submission.user_data, i);
  }
  EXPECT_FALSE(take());
}

TEST_F(Ends, SayThatTheRingOfCompletionsIsFull) {
  for (std::uint64_t i = 0; i < kSmall.completion_entries; ++i) ASSERT_TRUE(publish(i));
  EXPECT_FALSE(publish(99));
  ASSERT_TRUE(next());
  EXPECT_EQ(completion.user_data, 0U);
  EXPECT_TRUE(publish(8));
  EXPECT_FALSE(publish(99));
  for (std::uint64_t i = 1; i < 9; ++i) {
    ASSERT_TRUE(next());
    EXPECT_EQ(completion.user_data, i);
  }
  EXPECT_FALSE(next());
}

TEST_F(Ends, CarryPayloads) {
  for (const std::size_t bytes : {1U, 7U, 8U, 4096U, 32768U}) {
    const auto sent = pattern(bytes, bytes);
    ASSERT_TRUE(publish(bytes, sent));
    ASSERT_TRUE(next());
    EXPECT_EQ(completion.kind, code(CompletionKind::kResult));
    EXPECT_EQ(completion.user_data, bytes);
    EXPECT_EQ(payload, sent);
  }
  ASSERT_TRUE(publish(1));
  ASSERT_TRUE(next());
  EXPECT_TRUE(payload.empty());
}

TEST_F(Ends, RefuseAPayloadThatCouldNeverFit) {
  EXPECT_FAILS(daemon().publish(CompletionKind::kResult, 1, pattern(32769, 1)),
               ErrorCode::kInvalidArgument);
  EXPECT_TRUE(publish(2, pattern(32768, 2)));
}

TEST_F(Ends, LetTheDaemonSleepOnlyWhenThereIsNothingToTake) {
  ASSERT_TRUE(submit(1));
  EXPECT_FALSE(daemon().prepare_sleep());
  ASSERT_TRUE(submit(2));
  EXPECT_FALSE(drain_doorbell(daemon().doorbell()));  // it has stayed awake
  ASSERT_TRUE(take());
  EXPECT_FALSE(daemon().prepare_sleep());
  ASSERT_TRUE(take());
  EXPECT_TRUE(daemon().prepare_sleep());
}

TEST_F(Ends, RingOnlyForADaemonThatSleeps) {
  ASSERT_TRUE(submit(1));
  EXPECT_FALSE(drain_doorbell(daemon().doorbell()));
  ASSERT_TRUE(take());

  ASSERT_TRUE(daemon().prepare_sleep());
  ASSERT_TRUE(submit(2));
  EXPECT_TRUE(drain_doorbell(daemon().doorbell()));
  daemon().end_sleep();
  ASSERT_TRUE(submit(3));
  EXPECT_FALSE(drain_doorbell(daemon().doorbell()));
}

TEST_F(Ends, WaitNoLongerThanForACompletion) {
  ASSERT_TRUE(publish(1));
  const auto begin = Steady::now();
  client().wait(60s, 0ns);
  client().wait(60s, 20us);
  EXPECT_LT(Steady::now() - begin, 30s);
}

TEST_F(Ends, WaitNoLongerThanTold) {
  const auto begin = Steady::now();
  client().wait(1ms, 0ns);
  client().wait(1ms, 20us);
  client().wait(20us, 1s);
  client().wait(0ns, 1s);
  client().wait(-1s, 1s);
  EXPECT_LT(Steady::now() - begin, 30s);
}

TEST_F(Ends, WaitNoLongerThanForAFlag) {
  EXPECT_EQ(client().flags(), 0U);
  daemon().set_flags(kFlagDraining);
  const auto begin = Steady::now();
  client().wait(60s, 0ns);
  EXPECT_EQ(client().flags(), kFlagDraining);

  client().wait(1ms, 0ns);  // no news any more
  daemon().set_flags(kFlagDead);
  client().wait(60s, 20us);
  EXPECT_EQ(client().flags(), kFlagDead);
  EXPECT_LT(Steady::now() - begin, 30s);
}

TEST_F(Ends, CountSubmissionsForAReaderOfCoreDumps) {
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(submit(2));
  EXPECT_EQ(client_words().progress.value.load(), 2U);
}

}  // namespace
}  // namespace deepinfer::ipc
