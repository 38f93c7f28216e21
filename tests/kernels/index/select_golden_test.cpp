// select_blocks against the official candidate masks: candidates_prefill, _uneven and _step*.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/index/select_latents.h"
#include "tests/support/golden_file.h"

namespace deepinfer::kernels {
namespace {

// How many blocks are kept, and of how many latents each.
struct Blocks {
  std::int64_t count;
  std::int64_t size;
};

void expect_mask(const test::GoldenFile& golden, const std::string& name, Blocks blocks) {
  SCOPED_TRACE(name);
  const std::vector<float> scores = golden.floats(name + ".scores");
  const std::vector<std::int64_t> mask = golden.integers(name + ".mask");
  const std::int64_t rows = golden.shape(name + ".scores")[0];
  const std::int64_t latents = golden.shape(name + ".scores")[1];
  const std::vector<std::int64_t> lens = golden.has(name + ".lens")
                                             ? golden.integers(name + ".lens")
                                             : std::vector<std::int64_t>{latents};
  std::vector<std::int32_t> kept(static_cast<std::size_t>(blocks.count));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t visible = lens[static_cast<std::size_t>(row)];
    select_blocks({.scores = scores.data() + row * latents,
                   .visible = visible,
                   .block_size = blocks.size,
                   .blocks = kept.data(),
                   .count = blocks.count});
    for (std::int64_t j = 0; j < visible; ++j) {
      const bool is_kept = std::find(kept.begin(), kept.end(), j / blocks.size) != kept.end();
      EXPECT_EQ(is_kept, mask[static_cast<std::size_t>(row * latents + j)] != 0)
          << "row " << row << ", latent " << j;
    }
  }
}

TEST(SelectBlocksGolden, CandidatesOfAPrefillAreTheOfficialOnes) {
  const test::GoldenFile golden(test::data_path("golden/units.safetensors"));
  for (const std::string name : {"candidates_prefill", "candidates_uneven"}) {
    const std::vector<std::int64_t> params = golden.integers(name + ".params");
    expect_mask(golden, name, {.count = params[0], .size = params[1]});
  }
}

TEST(SelectBlocksGolden, CandidatesOfAStepAreTheOfficialOnes) {
  const test::GoldenFile golden(test::data_path("golden/units.safetensors"));
  const std::vector<std::int64_t> params = golden.integers("candidates_prefill.params");
  for (const std::string length : {"1", "3", "4", "5", "16", "17", "61"}) {
    expect_mask(golden, "candidates_step" + length, {.count = params[0], .size = params[1]});
  }
}

}  // namespace
}  // namespace deepinfer::kernels
