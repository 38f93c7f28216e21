// The layout of blocks and slots: the released model's figures, and the tiny model's by hand.
#include "engine/kv/cache_layout.h"

#include <gtest/gtest.h>

#include "engine/checkpoint/config_json.h"
#include "tests/support/golden_file.h"

namespace deepinfer::engine {
namespace {

ModelShape shape_of(const std::filesystem::path& folder) {
  const ShapeOrProblems read = read_config(folder);
  EXPECT_TRUE(read.shape.has_value());
  return *read.shape;
}

// spec 6.1: the figures of the reference engine's physical layout.
TEST(CacheLayout, OfTheReleasedModelHasThePublishedSizes) {
  const auto folder = std::filesystem::path(DEEPINFER_SOURCE_DIR) / "engine/checkpoint/assets";

  const CacheLayout layout = cache_layout(shape_of(folder));

  EXPECT_EQ(layout.window_entry, 528);
  EXPECT_EQ(layout.global_entry, 288);
  EXPECT_EQ(layout.index_codes + layout.index_scales, 68);
  EXPECT_EQ(layout.ring_slots, 134);
  EXPECT_EQ(layout.open_rows, 7);
  EXPECT_EQ(layout.block_bytes, 113920);
  EXPECT_EQ(layout.block_stride, 114048);
  EXPECT_EQ(layout.slot_bytes, 3128352);
  EXPECT_EQ(layout.slot_stride, 3128928);
  EXPECT_EQ(layout.bytes_per_token(), 890.0);
}

TEST(CacheLayout, PlacesTheSourcesOneAfterTheOther) {
  const CacheLayout layout = cache_layout(shape_of(test::data_path("golden/tiny")));

  ASSERT_EQ(layout.sources.size(), 3U);
  EXPECT_EQ(layout.sources[0].entries_per_page, 64);
  EXPECT_EQ(layout.sources[0].index_offset, 0);
  EXPECT_EQ(layout.sources[0].main_offset, 64 * 34);
  EXPECT_EQ(layout.sources[1].index_offset, 64 * (34 + 36));
  EXPECT_EQ(layout.sources[2].entries_per_page, 128);
  EXPECT_EQ(layout.sources[2].open_offset, -1);
  EXPECT_EQ(layout.block_bytes, 2 * 64 * (34 + 36) + 128 * (34 + 36));
  EXPECT_GE(layout.sources[0].open_offset, layout.ring_offset(11));
  EXPECT_EQ(layout.sources[0].open_offset % 4, 0);
}

}  // namespace
}  // namespace deepinfer::engine
