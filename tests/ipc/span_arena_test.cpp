// Spans are disjoint, aligned and come back: what goes wrong here mixes up two prompts.
#include "ipc/span_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

constexpr std::uint64_t kBytes = 64U << 10U;

class SpanArenaTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(arena_); }
  [[nodiscard]] SpanArena& arena() { return *arena_; }

 private:
  Pages pages_ = allocate_pages(kBytes);
  Result<SpanArena> arena_ = SpanArena::create({pages_.get(), kBytes});
};

TEST_F(SpanArenaTest, GivesAlignedSpansWithinItself) {
  for (const std::uint64_t bytes : {1U, 7U, 8U, 9U, 100U, 4096U}) {
    const auto span = arena().allocate(bytes);
    ASSERT_TRUE(span.has_value());
    EXPECT_EQ(span->offset % 8, 0U);
    EXPECT_EQ(span->bytes, bytes);
    EXPECT_LE(span->offset + span->bytes, kBytes);
    EXPECT_EQ(arena().bytes_of(*span).size(), bytes);
  }
}

TEST_F(SpanArenaTest, GivesAnEmptySpanForNothing) {
  const std::uint64_t before = arena().free_bytes();
  const auto span = arena().allocate(0);
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(*span, Span{});
  arena().free(*span);
  EXPECT_EQ(arena().free_bytes(), before);
}

TEST_F(SpanArenaTest, GivesNothingWhenThereIsNoRoom) {
  const auto all = arena().allocate(arena().most_bytes());
  ASSERT_TRUE(all.has_value());
  EXPECT_FALSE(arena().allocate(1).has_value());
  arena().free(*all);
  EXPECT_TRUE(arena().allocate(1).has_value());
}

TEST_F(SpanArenaTest, GivesAtMostWhatItSays) {
  EXPECT_GT(arena().most_bytes(), kBytes - 1024);
  for (const std::uint64_t bytes : {arena().most_bytes() + 1, kBytes, ~std::uint64_t{0},
                                    ~std::uint64_t{0} - 15, std::uint64_t{1} << 63U}) {
    EXPECT_FALSE(arena().allocate(bytes).has_value()) << bytes;
  }
  EXPECT_TRUE(arena().allocate(arena().most_bytes()).has_value());
}

TEST_F(SpanArenaTest, KeepsSpansApartAndTakesAllBack) {
  struct Held {
    Span span;
    std::vector<std::byte> content;
  };
  const std::uint64_t before = arena().free_bytes();
  std::mt19937 random(20261201);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable on purpose
  std::vector<Held> held;
  const auto let_go = [&](std::size_t i) {
    const std::span<std::byte> bytes = arena().bytes_of(held[i].span);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), held[i].content.begin()));
    arena().free(held[i].span);
    std::swap(held[i], held.back());
    held.pop_back();
  };
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const auto span = arena().allocate(random() % 3000);
    if (span.has_value()) {
      held.push_back({*span, pattern(span->bytes, round)});
      std::ranges::copy(held.back().content, arena().bytes_of(*span).begin());
    }
    if (!span.has_value() || random() % 2 == 0) let_go(random() % held.size());
  }
  while (!held.empty()) let_go(0);
  EXPECT_EQ(arena().free_bytes(), before);
  EXPECT_TRUE(arena().allocate(arena().most_bytes()).has_value());
}

TEST_F(SpanArenaTest, GoesOnAfterAMove) {
  const auto span = arena().allocate(64);
  ASSERT_TRUE(span.has_value());
  SpanArena moved = std::move(arena());
  moved.free(*span);
  EXPECT_TRUE(moved.allocate(moved.most_bytes()).has_value());
}

TEST(SpanArena, RefusesMemoryThatCannotHoldIt) {
  const Pages pages = allocate_pages(kPage);
  EXPECT_FAILS(SpanArena::create({pages.get(), 64}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(SpanArena::create({pages.get(), 0}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(SpanArena::create({pages.get() + 4, 2048}), ErrorCode::kInvalidArgument);
}

TEST(SpanArenaDeathTest, StopsAtASpanOfAnotherArena) {
  const Pages pages = allocate_pages(kPage);
  const auto arena = SpanArena::create({pages.get(), kPage});
  ASSERT_OK(arena);
  EXPECT_DEATH(static_cast<void>(arena->bytes_of({kPage - 8, 16})), "");
  EXPECT_DEATH(static_cast<void>(arena->bytes_of({~std::uint64_t{0} - 7, 16})), "");
}

}  // namespace
}  // namespace deepinfer::ipc
