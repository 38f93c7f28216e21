// A client that holds its descriptors and keeps to no rule: the daemon ends its session, and nothing else.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/segment.h"
#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

// Indices that cannot come after `seen` when `room` more are possible.
std::vector<std::uint32_t> impossible(std::uint32_t seen, std::uint32_t room) {
  return {seen - 1,          seen - 2,          seen + room + 1,  seen + 1000,
          seen + 0x7FFFFFFF, seen + 0x80000000, seen - 0x7FFFFFFF};
}

constexpr RingStart kNearTheEnd{.submissions = 0xFFFFFFFE, .completions = 0xFFFFFFFE, .results = 0};

class HostileIndices : public testing::TestWithParam<RingStart> {};
INSTANTIATE_TEST_SUITE_P(
    AnywhereInTheirRange, HostileIndices,
    testing::Values(RingStart{},
                    RingStart{.submissions = 1000, .completions = 1000, .results = 1 << 20},
                    kNearTheEnd));

TEST_P(HostileIndices, OfSubmissionsEndTheSessionForGood) {
  const std::uint32_t seen = GetParam().submissions + 2;
  for (const std::uint32_t index : impossible(seen, kSmall.submission_entries)) {
    SharedPair pair(kSmall, GetParam());
    Submission submission;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(*pair.client().submit(Operation::kNothing, 1, {}));
      ASSERT_TRUE(*pair.daemon().take(submission));
    }
    pair.client_words().published.value.store(index);
    EXPECT_FAILS(pair.daemon().take(submission), ErrorCode::kDataLoss);
    EXPECT_FALSE(pair.daemon().prepare_sleep());

    pair.client_words().published.value.store(seen);  // repentance comes too late
    EXPECT_FAILS(pair.daemon().take(submission), ErrorCode::kDataLoss);
  }
}

TEST_P(HostileIndices, OfCompletionsEndTheSessionForGood) {
  const std::uint32_t seen = GetParam().completions + 1;
  for (const std::uint32_t index : impossible(seen, 1)) {
    SharedPair pair(kSmall, GetParam());
    Completion completion;
    std::vector<std::byte> payload;
    ASSERT_TRUE(*pair.daemon().publish(CompletionKind::kAccepted, 1, {}));
    ASSERT_TRUE(*pair.client().next(completion, payload));
    ASSERT_TRUE(*pair.daemon().publish(CompletionKind::kAccepted, 2, {}));
    pair.client_words().consumed.value.store(index);
    EXPECT_FAILS(pair.daemon().publish(CompletionKind::kAccepted, 3, {}), ErrorCode::kDataLoss);

    pair.client_words().consumed.value.store(seen);
    EXPECT_FAILS(pair.daemon().publish(CompletionKind::kAccepted, 3, {}), ErrorCode::kDataLoss);
  }
}

TEST_P(HostileIndices, OfReleasedResultsEndTheSessionForGood) {
  const std::uint64_t first = GetParam().results;
  for (const std::uint64_t position : {first - 1, first + 1001, first + kSmall.result_bytes,
                                       ~std::uint64_t{0}, first + (std::uint64_t{1} << 63U)}) {
    SharedPair pair(kSmall, GetParam());
    ASSERT_TRUE(*pair.daemon().publish(CompletionKind::kResult, 1, pattern(1000, 1)));
    pair.client_words().released.value.store(position);
    EXPECT_FAILS(pair.daemon().publish(CompletionKind::kResult, 2, pattern(8, 1)),
                 ErrorCode::kDataLoss);

    pair.client_words().released.value.store(first);
    EXPECT_FAILS(pair.daemon().publish(CompletionKind::kResult, 2, pattern(8, 1)),
                 ErrorCode::kDataLoss);
  }
}

TEST(HostileClient, EndsItsSessionWithASlotOutOfTurn) {
  for (const std::uint32_t sequence : {1U, 4U, 0x80000000U, ~0U}) {
    SharedPair pair;
    SubmissionHeader header;
    header.sequence = sequence;
    header.descriptor_offset = kInline;
    pair.write_slot(0, header);
    pair.client_words().published.value.store(1);
    Submission submission;
    EXPECT_FAILS(pair.daemon().take(submission), ErrorCode::kDataLoss);
    EXPECT_FAILS(pair.daemon().take(submission), ErrorCode::kDataLoss);
  }
}

TEST(HostileClient, HarmsOnlyItselfByReleasingPartOfAResult) {
  SharedPair pair;
  ASSERT_TRUE(*pair.daemon().publish(CompletionKind::kResult, 1, pattern(32768, 1)));
  pair.client_words().released.value.store(12345);  // in the middle of it
  for (int i = 0; i < 7; ++i) {
    ASSERT_OK(pair.daemon().publish(CompletionKind::kResult, 2, pattern(20000, 2)));
  }
}

TEST(HostileClient, CannotResizeOrWriteWhatTheDaemonMaps) {
  const RealPair pair;
  const auto [c2d, d2c, doorbell] = pair.daemon->client_descriptors();
  for (const int descriptor : {c2d, d2c}) {
    EXPECT_NE(::ftruncate(descriptor, 0), 0);
    EXPECT_NE(::ftruncate(descriptor, 1 << 30), 0);
  }
  EXPECT_LT(::pwrite(d2c, "x", 1, 0), 0);
  EXPECT_NE(::fallocate(d2c, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage), 0);
  EXPECT_FALSE(Mapping::map(d2c, d2c_bytes(kSmall), Access::kReadWrite).has_value());
  EXPECT_TRUE(*pair.client->submit(Operation::kNothing, 1, {}));
  Submission submission;
  EXPECT_TRUE(*pair.daemon->take(submission));
}

TEST(HostileClient, MayPunchHolesIntoItsOwnSegment) {
  const RealPair pair;
  const int c2d = pair.daemon->client_descriptors()[0];
  Submission submission;
  for (std::uint64_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(*pair.client->submit(Operation::kNothing, i, {}));
    ASSERT_TRUE(*pair.daemon->take(submission));
  }
  ASSERT_TRUE(*pair.client->submit(Operation::kNothing, 2, {}));
  ASSERT_EQ(::fallocate(c2d, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kPage,
                        static_cast<off_t>(c2d_bytes(kSmall) - kPage)),
            0);
  // The slot is all zeros now, and does not call itself number 2.
  EXPECT_FAILS(pair.daemon->take(submission), ErrorCode::kDataLoss);
}

TEST(HostileClient, MayPunchAHoleWhereItsIndicesWere) {
  const RealPair pair;
  const int c2d = pair.daemon->client_descriptors()[0];
  Submission submission;
  ASSERT_TRUE(*pair.client->submit(Operation::kNothing, 0, {}));
  ASSERT_TRUE(*pair.daemon->take(submission));
  ASSERT_EQ(::fallocate(c2d, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage), 0);
  EXPECT_FAILS(pair.daemon->take(submission), ErrorCode::kDataLoss);
}

// Over two mappings, as in two processes: the race is meant, and the thread sanitizer must not see it.
TEST(HostileClient, CannotChangeASubmissionBetweenCheckAndUse) {
  const RealPair pair;
  const auto mapping =
      Mapping::map(pair.daemon->client_descriptors()[0], c2d_bytes(kSmall), Access::kReadWrite);
  ASSERT_OK(mapping);
  std::byte* const slots = mapping->data() + kPage;
  std::atomic<bool> is_over{false};
  std::thread flipper([&] {
    // A length that is allowed and one that reaches far beyond the slot, in every slot, all the time.
    for (std::uint32_t i = 0; !is_over.load(std::memory_order_relaxed); ++i) {
      const std::uint32_t bytes = i % 2 == 0 ? 64 : 0xFFFFFFF8;
      for (std::uint32_t slot = 0; slot < kSmall.submission_entries; ++slot) {
        std::memcpy(
            slots + slot * kSubmissionSlotBytes + offsetof(SubmissionHeader, descriptor_bytes),
            &bytes, sizeof(bytes));
      }
    }
  });

  Submission submission;
  int refused = 0;
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_TRUE(*pair.client->submit(Operation::kSubmit, 1, std::vector<std::uint64_t>(8)));
    ASSERT_TRUE(*pair.daemon->take(submission));
    const bool is_refused = !submission.problem.empty();
    if (is_refused) ++refused;
    ASSERT_EQ(submission.descriptor.size(), is_refused ? 0U : 8U);
  }
  is_over = true;
  flipper.join();
  RecordProperty("refused", refused);
}

// The client checks the daemon too: what it is told to copy must lie inside.
TEST(HostileDaemon, IsGivenUpWhenACompletionIsImpossible) {
  const auto expect_given_up = [](auto spoil) {
    SharedPair pair;
    Completion completion;
    completion.kind = static_cast<std::uint16_t>(CompletionKind::kResult);
    spoil(completion);
    pair.write_slot(0, completion);
    pair.daemon_words().published.value.store(1);
    std::vector<std::byte> payload;
    EXPECT_FAILS(pair.client().next(completion, payload), ErrorCode::kDataLoss);
    EXPECT_FAILS(pair.client().next(completion, payload), ErrorCode::kDataLoss);
  };
  expect_given_up([](Completion& completion) { completion.sequence = 1; });
  expect_given_up([](Completion& completion) { completion.kind = 0; });
  expect_given_up([](Completion& completion) { completion.kind = 8; });
  expect_given_up([](Completion& completion) { completion.flags = 1; });
  expect_given_up([](Completion& completion) { completion.bytes = kMaxPayloadBytes + 1; });
  expect_given_up([](Completion& completion) {
    completion.offset = kSmall.result_bytes;
    completion.bytes = 1;
  });
  expect_given_up([](Completion& completion) {
    completion.offset = ~std::uint64_t{0} - 7;
    completion.bytes = 16;
  });
  expect_given_up([](Completion& completion) { completion.release = kSmall.result_bytes + 1; });
  expect_given_up([](Completion& completion) { completion.release = ~std::uint64_t{0}; });
}

TEST(HostileDaemon, IsGivenUpWhenItsIndicesAreImpossible) {
  for (const std::uint32_t index : impossible(0, kSmall.completion_entries)) {
    SharedPair pair;
    pair.daemon_words().published.value.store(index);
    Completion completion;
    std::vector<std::byte> payload;
    EXPECT_FAILS(pair.client().next(completion, payload), ErrorCode::kDataLoss);
  }
  for (const std::uint32_t index : impossible(0, kSmall.submission_entries)) {
    SharedPair pair;
    for (std::uint32_t i = 0; i < kSmall.submission_entries; ++i) {
      ASSERT_TRUE(*pair.client().submit(Operation::kNothing, 1, {}));
    }
    pair.daemon_words().consumed.value.store(index);
    EXPECT_FAILS(pair.client().submit(Operation::kNothing, 1, {}), ErrorCode::kDataLoss);
  }
}

}  // namespace
}  // namespace deepinfer::ipc
