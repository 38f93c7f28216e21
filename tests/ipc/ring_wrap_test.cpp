// Everything that ends and begins again: 32-bit indices, the rings' slots, the arena of payloads.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include <sys/stat.h>

#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

constexpr std::uint32_t kLastIndex = ~std::uint32_t{0};

std::uint64_t bytes_of_blocks(int descriptor) {
  struct stat facts {};
  EXPECT_EQ(::fstat(descriptor, &facts), 0);
  return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

TEST(RingWrap, CarriesSubmissionsOverTheEndOfTheIndex) {
  SharedPair pair(kSmall, {.submissions = kLastIndex - 5});
  Submission submission;
  std::uint64_t sent = 0;
  for (std::uint64_t taken = 0; taken < 40; ++taken) {
    while (true) {
      const auto is_out = pair.client().submit(Operation::kNothing, sent, {});
      ASSERT_OK(is_out);
      if (!*is_out) break;
      ++sent;
    }
    EXPECT_EQ(sent, taken + kSmall.submission_entries);
    const auto has_one = pair.daemon().take(submission);
    ASSERT_OK(has_one);
    ASSERT_TRUE(*has_one);
    EXPECT_EQ(submission.user_data, taken);
  }
  EXPECT_LT(pair.client_words().published.value.load(), 100U);
}

TEST(RingWrap, CarriesCompletionsOverTheEndOfTheIndex) {
  SharedPair pair(kSmall, {.completions = kLastIndex - 5});
  Completion completion;
  std::vector<std::byte> payload;
  std::uint64_t sent = 0;
  for (std::uint64_t taken = 0; taken < 40; ++taken) {
    while (true) {
      const auto is_out = pair.daemon().publish(CompletionKind::kTokens, sent, pattern(100, sent));
      ASSERT_OK(is_out);
      if (!*is_out) break;
      ++sent;
    }
    EXPECT_EQ(sent, taken + kSmall.completion_entries);
    const auto has_one = pair.client().next(completion, payload);
    ASSERT_OK(has_one);
    ASSERT_TRUE(*has_one);
    EXPECT_EQ(completion.user_data, taken);
    EXPECT_EQ(payload, pattern(100, taken));
  }
  EXPECT_LT(pair.daemon_words().published.value.load(), 100U);
}

TEST(RingWrap, SleepsAndRingsAtTheEndOfTheIndex) {
  SharedPair pair(kSmall, {.submissions = kLastIndex});
  ASSERT_TRUE(pair.daemon().prepare_sleep());
  ASSERT_OK(pair.client().submit(Operation::kNothing, 1, {}));
  EXPECT_TRUE(drain_doorbell(pair.daemon().doorbell()));
  EXPECT_FALSE(pair.daemon().prepare_sleep());
}

// A payload of every size up to the greatest, with one to eight of them waiting at a time.
TEST(RingWrap, KeepsPayloadsInOnePieceAndApart) {
  SharedPair pair;
  std::mt19937 random(20261201);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable on purpose
  std::deque<std::uint64_t> waiting;
  Completion completion;
  std::vector<std::byte> payload;
  std::uint64_t number = 0;
  int full = 0;
  for (int round = 0; round < 8'000; ++round) {
    const std::size_t bytes = random() % 3 == 0 ? random() % 32769 : random() % 300;
    const std::uint64_t seed = number * 100'000 + bytes;
    const auto is_out = pair.daemon().publish(CompletionKind::kResult, seed, pattern(bytes, seed));
    ASSERT_OK(is_out);
    if (*is_out) {
      waiting.push_back(seed);
      ++number;
    }
    if (!*is_out) ++full;
    if (*is_out && random() % 2 == 0) continue;
    ASSERT_FALSE(waiting.empty()) << "no room in an empty ring";
    ASSERT_OK(pair.client().next(completion, payload));
    ASSERT_EQ(completion.user_data, waiting.front());
    ASSERT_EQ(payload, pattern(waiting.front() % 100'000, waiting.front()));
    waiting.pop_front();
  }
  EXPECT_GT(full, 100);
}

TEST(RingWrap, TakesAPayloadOfTheGreatestSizeWhereverTheLastOneEnded) {
  Completion completion;
  std::vector<std::byte> payload;
  for (std::size_t before = 8; before <= 32768; before += 296) {
    for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{1} << 40U}) {
      SharedPair pair(kSmall, {.results = start * kSmall.result_bytes});
      for (const std::size_t bytes : {before, std::size_t{32768}, std::size_t{32768}}) {
        const auto is_out = pair.daemon().publish(CompletionKind::kResult, 1, pattern(bytes, 1));
        ASSERT_OK(is_out);
        ASSERT_TRUE(*is_out) << before;
        ASSERT_OK(pair.client().next(completion, payload));
        ASSERT_EQ(payload, pattern(bytes, 1));
      }
    }
  }
}

TEST(RingWrap, SaysThatThereIsNoRoomForAPayloadUntilOneIsReleased) {
  SharedPair pair;
  const auto half = pattern(32768, 1);
  ASSERT_TRUE(*pair.daemon().publish(CompletionKind::kResult, 1, half));
  ASSERT_TRUE(*pair.daemon().publish(CompletionKind::kResult, 2, half));
  EXPECT_FALSE(*pair.daemon().publish(CompletionKind::kResult, 3, pattern(1, 1)));
  EXPECT_TRUE(*pair.daemon().publish(CompletionKind::kAccepted, 4, {}));  // needs none

  Completion completion;
  std::vector<std::byte> payload;
  ASSERT_TRUE(*pair.client().next(completion, payload));
  EXPECT_TRUE(*pair.daemon().publish(CompletionKind::kResult, 3, pattern(1, 1)));
}

// Else every session would in the end hold all memory that it was granted.
TEST(RingWrap, TouchesFewPagesForAClientThatKeepsUp) {
  const Geometry geometry{.submission_entries = 2,
                          .completion_entries = 2,
                          .arena_bytes = 64U << 10U,
                          .result_bytes = 16U << 20U};
  const RealPair pair(geometry);
  Completion completion;
  std::vector<std::byte> payload;
  const auto sent = pattern(50'000, 1);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(*pair.daemon->publish(CompletionKind::kResult, 1, sent));
    ASSERT_TRUE(*pair.client->next(completion, payload));
    ASSERT_EQ(payload, sent);
  }
  EXPECT_LT(bytes_of_blocks(pair.daemon->client_descriptors()[1]), geometry.result_bytes / 8);
}

}  // namespace
}  // namespace deepinfer::ipc
