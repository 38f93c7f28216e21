// How options become blocks, slots and an enforced context.
#include "engine/capacity.h"

#include <gtest/gtest.h>

#include "engine/checkpoint/config_json.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

class CapacityTest : public testing::Test {
 protected:
  const ModelShape shape_ = *read_config(test::model_path("nano")).shape;
  const CacheLayout layout_ = cache_layout(shape_);
};

TEST_F(CapacityTest, HoldsEverySequenceAtFullContextWhenMemoryAllows) {
  const auto capacity = plan_capacity({.max_sequences = 3}, shape_, layout_);

  ASSERT_OK(capacity);
  EXPECT_EQ(capacity->max_context, 4096);
  EXPECT_EQ(capacity->blocks, 3 * 32);
  EXPECT_EQ(capacity->slots, 3);
}

// The limit that is told is the one that is enforced (field report B025).
TEST_F(CapacityTest, ASmallerCacheLowersTheContextThatIsTold) {
  const auto capacity = plan_capacity({.cache_bytes = 5 * layout_.block_stride}, shape_, layout_);

  ASSERT_OK(capacity);
  EXPECT_EQ(capacity->blocks, 5);
  EXPECT_EQ(capacity->max_context, 5 * kBlockTokens);
}

TEST_F(CapacityTest, RefusesOptionsOutsideTheirRange) {
  const std::vector<EngineOptions> bad = {{.threads = -1},
                                          {.max_context = 4097},
                                          {.max_context = 1},
                                          {.max_sequences = 0},
                                          {.max_sequences = 8, .max_batch_tokens = 7},
                                          {.prefill_chunk = 0},
                                          {.cache_bytes = -1},
                                          {.cache_bytes = 1}};
  for (const EngineOptions& options : bad) {
    EXPECT_FAILS(plan_capacity(options, shape_, layout_), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::engine
