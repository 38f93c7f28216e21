// The hyper-connections against the official ones: hc_split0, hc_split1 and hc_block.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/mix/hyper_connection.h"
#include "tests/kernels/kernel_data.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

using deepinfer::test::GoldenFile;

constexpr float kTolerance = 2e-6F;
constexpr float kCombTolerance = 1e-5F;

void expect_split(const std::string& name, bool is_fast) {
  const GoldenFile golden(deepinfer::test::data_path("golden/units.safetensors"));
  const std::vector<float> mixes = golden.floats(name + ".mixes");
  const std::vector<float> scale = golden.floats(name + ".scale");
  const std::vector<float> base = golden.floats(name + ".base");
  const std::int64_t rows = golden.shape(name + ".mixes")[0];
  std::vector<float> pre(static_cast<std::size_t>(rows * 4));
  std::vector<float> post(pre.size());
  std::vector<float> comb(pre.size() * 4);
  const MixSplit args{.mixes = View<const float, 2>(mixes.data(), rows, 24),
                      .scale = View<const float, 1>(scale.data(), 3),
                      .base = View<const float, 1>(base.data(), 24),
                      .pre = View<float, 2>(pre.data(), rows, 4),
                      .post = View<float, 2>(post.data(), rows, 4),
                      .comb = View<float, 3>(comb.data(), rows, 4, 4)};
  Workers workers(2);

  ASSERT_OK(is_fast ? mix_split_cpu(args, workers) : mix_split_reference(args));

  test::expect_close(pre, golden.floats(name + ".pre"), {.absolute = kTolerance});
  test::expect_close(post, golden.floats(name + ".post"), {.absolute = kTolerance});
  test::expect_close(comb, golden.floats(name + ".comb"), {.absolute = kCombTolerance});
}

TEST(MixSplitGolden, HcSplit0) {
  expect_split("hc_split0", /*is_fast=*/false);
  expect_split("hc_split0", /*is_fast=*/true);
}

TEST(MixSplitGolden, HcSplit1) {
  expect_split("hc_split1", /*is_fast=*/false);
  expect_split("hc_split1", /*is_fast=*/true);
}

TEST(MixGolden, HcBlockWithTheWeightsOfTinyLayer0) {
  const GoldenFile golden(deepinfer::test::data_path("golden/units.safetensors"));
  const GoldenFile weights(
      deepinfer::test::data_path("golden/tiny/model-00001-of-00002.safetensors"));
  const std::vector<Bf16> x = golden.bf16("hc_block.x");
  const std::vector<float> fn = weights.floats("layers.0.hc_attn_fn");
  const std::vector<float> scale = weights.floats("layers.0.hc_attn_scale");
  const std::vector<float> base = weights.floats("layers.0.hc_attn_base");
  std::vector<float> pre(std::size_t{9} * 4);
  std::vector<float> post(std::size_t{9} * 4);
  std::vector<float> comb(std::size_t{9} * 16);
  const MixArgs args{.h = View<const Bf16, 3>(x.data(), 9, 4, 256),
                     .fn = View<const float, 2>(fn.data(), 24, 1024),
                     .scale = View<const float, 1>(scale.data(), 3),
                     .base = View<const float, 1>(base.data(), 24),
                     .pre = View<float, 2>(pre.data(), 9, 4),
                     .post = View<float, 2>(post.data(), 9, 4),
                     .comb = View<float, 3>(comb.data(), 9, 4, 4)};
  Workers workers(1);
  for (const bool is_fast : {false, true}) {
    ASSERT_OK(is_fast ? mix_cpu(args, workers) : mix_reference(args));

    test::expect_close(pre, golden.floats("hc_block.pre"), {.absolute = kTolerance});
    test::expect_close(post, golden.floats("hc_block.post"), {.absolute = kTolerance});
    test::expect_close(comb, golden.floats("hc_block.comb"), {.absolute = kCombTolerance});
  }
}

TEST(StreamUpdateGolden, HcBlockExpandsToTheOfficialStream) {
  const GoldenFile golden(deepinfer::test::data_path("golden/units.safetensors"));
  const std::vector<Bf16> sub = golden.bf16("hc_block.sub");
  const std::vector<float> post = golden.floats("hc_block.post");
  const std::vector<float> comb = golden.floats("hc_block.comb");
  Workers workers(1);
  for (const bool is_fast : {false, true}) {
    std::vector<Bf16> h = golden.bf16("hc_block.x");
    const StreamUpdateArgs args{.h = View<Bf16, 3>(h.data(), 9, 4, 256),
                                .y = View<const Bf16, 2>(sub.data(), 9, 256),
                                .post = View<const float, 2>(post.data(), 9, 4),
                                .comb = View<const float, 3>(comb.data(), 9, 4, 4)};

    ASSERT_OK(is_fast ? stream_update_cpu(args, workers) : stream_update_reference(args));

    test::expect_close(h, golden.floats("hc_block.expanded"), {.ulps = 1.0F, .absolute = 1e-6F});
  }
}

TEST(CollapseGolden, HcBlockCollapsesToTheOfficialInput) {
  const GoldenFile golden(deepinfer::test::data_path("golden/units.safetensors"));
  const std::vector<Bf16> h = golden.bf16("hc_block.x");
  const std::vector<float> pre = golden.floats("hc_block.pre");
  std::vector<Bf16> x(std::size_t{9} * 256);
  const CollapseArgs args{.h = View<const Bf16, 3>(h.data(), 9, 4, 256),
                          .pre = View<const float, 2>(pre.data(), 9, 4),
                          .x = View<Bf16, 2>(x.data(), 9, 256)};
  Workers workers(1);
  for (const bool is_fast : {false, true}) {
    ASSERT_OK(is_fast ? collapse_cpu(args, workers) : collapse_reference(args));

    test::expect_close(x, golden.floats("hc_block.collapsed"), {.ulps = 1.0F, .absolute = 1e-6F});
  }
}

}  // namespace
}  // namespace deepinfer::kernels
