// The layout is a contract with programs that were built at another time: it changes with the ABI alone.
#include "ipc/layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace deepinfer::ipc {
namespace {

TEST(Layout, IsThatOfAbiOne) {
  // Another number here means that clients of yesterday are refused: raise kAbiMajor with it.
  EXPECT_EQ(kAbiMajor, 1);
  EXPECT_EQ(layout_hash(), 0x77e60fddff5ea7U);
}

TEST(Layout, PutsTheArenasBehindTheSlotsAtPages) {
  for (const std::uint32_t entries : {2U, 4U, 256U, 65536U}) {
    const Geometry geometry{entries, entries, 64U << 10U, 1U << 20U};
    EXPECT_EQ(arena_offset(geometry) % kPage, 0U);
    EXPECT_GE(arena_offset(geometry), kPage + entries * kSubmissionSlotBytes);
    EXPECT_EQ(c2d_bytes(geometry), arena_offset(geometry) + geometry.arena_bytes);
    EXPECT_EQ(result_offset(geometry) % kPage, 0U);
    EXPECT_GE(result_offset(geometry), kPage + entries * kCompletionSlotBytes);
    EXPECT_EQ(d2c_bytes(geometry), result_offset(geometry) + geometry.result_bytes);
  }
}

TEST(Layout, AllowsTheDefaultsAndTheEdges) {
  EXPECT_TRUE(is_valid(Geometry{}));
  EXPECT_TRUE(is_valid({2, 2, 64U << 10U, 64U << 10U}));
  EXPECT_TRUE(is_valid({65536, 65536, 64ULL << 30U, 64ULL << 30U}));
}

TEST(Layout, RefusesSizesThatIndicesOrPagesCannotHave) {
  for (const std::uint32_t entries : {0U, 1U, 3U, 255U, 131072U, ~0U}) {
    EXPECT_FALSE(is_valid({entries, 8, 64U << 10U, 64U << 10U})) << entries;
    EXPECT_FALSE(is_valid({8, entries, 64U << 10U, 64U << 10U})) << entries;
  }
  constexpr std::uint64_t kBytes[]{
      0, kPage, (64U << 10U) - 1, (64U << 10U) + 1, (64ULL << 30U) + kPage, ~std::uint64_t{0}};
  for (const std::uint64_t bytes : kBytes) {
    EXPECT_FALSE(is_valid({8, 8, bytes, 64U << 10U})) << bytes;
    EXPECT_FALSE(is_valid({8, 8, 64U << 10U, bytes})) << bytes;
  }
}

}  // namespace
}  // namespace deepinfer::ipc
