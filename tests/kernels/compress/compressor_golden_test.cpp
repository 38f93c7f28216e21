// Projection, pooling and norm together against the official compressor: compressor_r1_s* and
// compressor_r2_s* with the weights of tiny layers 4 and 1.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/compress/pool.h"
#include "kernels/gemm/linear.h"
#include "kernels/norm/rms_norm.h"
#include "tests/kernels/kernel_data.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

using deepinfer::test::GoldenFile;

constexpr std::int64_t kHidden = 256;
constexpr std::int64_t kWidth = 64;

GoldenFile units() { return GoldenFile(deepinfer::test::data_path("golden/units.safetensors")); }

GoldenFile shard(const std::string& number) {
  return GoldenFile(
      deepinfer::test::data_path("golden/tiny/model-" + number + "-of-00002.safetensors"));
}

std::vector<float> project(const std::vector<float>& x, const std::vector<Bf16>& weight) {
  const auto rows = static_cast<std::int64_t>(x.size()) / kHidden;
  std::vector<float> y(static_cast<std::size_t>(rows * kWidth));
  const Status status = linear_reference({.x = View<const float, 2>(x.data(), rows, kHidden),
                                          .weight = {.format = WeightFormat::kBf16,
                                                     .data = weight.data(),
                                                     .outputs = kWidth,
                                                     .cols = kHidden},
                                          .y_f32 = y.data()});
  EXPECT_TRUE(status.has_value());
  return y;
}

std::vector<Bf16> normed(const std::vector<Bf16>& x, const std::vector<Bf16>& weight) {
  const auto rows = static_cast<std::int64_t>(x.size()) / kWidth;
  std::vector<Bf16> y(x.size());
  const Status status = rms_norm_reference({.x = View<const Bf16, 2>(x.data(), rows, kWidth),
                                            .weight = View<const Bf16, 1>(weight.data(), kWidth),
                                            .y = View<Bf16, 2>(y.data(), rows, kWidth),
                                            .epsilon = 1e-20F});
  EXPECT_TRUE(status.has_value());
  return y;
}

TEST(CompressorGolden, CompressorR1GivesALatentForEveryToken) {
  const GoldenFile golden = units();
  const GoldenFile weights = shard("00002");
  for (const std::string steps : {"1", "2", "7", "8"}) {
    const std::string name = "compressor_r1_s" + steps;
    const std::vector<float> projected =
        project(golden.floats(name + ".x"), weights.bf16("layers.4.attn.compressor.wkv.weight"));

    test::expect_close(
        normed(test::to_bf16_row(projected), weights.bf16("layers.4.attn.compressor.norm.weight")),
        golden.floats(name + ".latents"), {.ulps = 1.0F, .absolute = 1e-6F});
  }
}

TEST(CompressorGolden, CompressorR2GivesALatentForEveryPairOfTokens) {
  const GoldenFile golden = units();
  const GoldenFile weights = shard("00001");
  Workers workers(1);
  for (const std::string steps : {"1", "2", "7", "8"}) {
    const std::string name = "compressor_r2_s" + steps;
    const std::vector<float> x = golden.floats(name + ".x");
    const std::vector<float> kv = project(x, weights.bf16("layers.1.attn.compressor.wkv.weight"));
    const std::vector<float> score =
        project(x, weights.bf16("layers.1.attn.compressor.wgate.weight"));
    const std::int64_t count = golden.shape(name + ".latents")[0];
    std::vector<PoolGroup> groups;
    for (std::int64_t g = 0; g < count; ++g) {
      groups.push_back({.first_kv = kv.data() + 2 * g * kWidth,
                        .first_score = score.data() + 2 * g * kWidth,
                        .second_kv = kv.data() + (2 * g + 1) * kWidth,
                        .second_score = score.data() + (2 * g + 1) * kWidth});
    }
    std::vector<Bf16> pooled(static_cast<std::size_t>(count * kWidth));
    const PoolArgs args{.groups = groups.data(),
                        .pooled = View<Bf16, 2>(pooled.data(), count, kWidth)};
    for (const bool is_fast : {false, true}) {
      ASSERT_OK(is_fast ? pool_cpu(args, workers) : pool_reference(args));

      test::expect_close(normed(pooled, weights.bf16("layers.1.attn.compressor.norm.weight")),
                         golden.floats(name + ".latents"), {.ulps = 1.0F, .absolute = 1e-6F});
    }
  }
}

}  // namespace
}  // namespace deepinfer::kernels
