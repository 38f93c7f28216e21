// Rows, projection and gate together against the official n-gram memory: engram_unit with the tables
// of tiny layer 1.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/engram/engram.h"
#include "kernels/gemm/linear.h"
#include "tests/kernels/kernel_data.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

using deepinfer::test::GoldenFile;

constexpr std::int64_t kRows = 9;
constexpr std::int64_t kHidden = 256;
constexpr std::int64_t kColumns = 6;
constexpr std::int64_t kDim = 64;
const char* const kLayer = "layers.1.engram.";

GoldenFile units() { return GoldenFile(deepinfer::test::data_path("golden/units.safetensors")); }
GoldenFile tiny() {
  return GoldenFile(deepinfer::test::data_path("golden/tiny/model-00001-of-00002.safetensors"));
}

std::vector<float> gather(const GoldenFile& golden, const GoldenFile& weights, bool is_fast) {
  const std::vector<std::uint8_t> codes = weights.bytes(std::string(kLayer) + "embed.weight");
  const std::vector<std::uint8_t> scales = weights.bytes(std::string(kLayer) + "embed.scale");
  const std::vector<std::int64_t> rows = golden.integers("engram_unit.hash_ids");
  std::vector<float> y(kRows * kColumns * kDim);
  const EngramGatherArgs args{
      .table = {.codes = codes.data(), .scales = scales.data(), .rows = 630, .dim = kDim},
      .table_rows = View<const std::int64_t, 2>(rows.data(), kRows, kColumns),
      .y = View<float, 2>(y.data(), kRows, kColumns * kDim)};
  Workers workers(1);
  const Status status = is_fast ? engram_gather_cpu(args, workers) : engram_gather_reference(args);
  EXPECT_TRUE(status.has_value());
  return y;
}

TEST(EngramGolden, EngramUnitRowsComeOutOfTheTable) {
  const GoldenFile golden = units();
  const GoldenFile weights = tiny();
  for (const bool is_fast : {false, true}) {
    EXPECT_EQ(gather(golden, weights, is_fast), golden.floats("engram_unit.rows"));
  }
}

// |actual - expected| / |expected|.
double relative_l2(const std::vector<Bf16>& actual, const std::vector<float>& expected) {
  double distance = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected[i];
    distance += (to_float(actual[i]) - wanted) * (to_float(actual[i]) - wanted);
    size += wanted * wanted;
  }
  return std::sqrt(distance / size);
}

TEST(EngramGolden, EngramUnitAddsTheOfficialValuesAndClosesTheGateOfImageTokens) {
  const GoldenFile golden = units();
  const GoldenFile weights = tiny();
  const std::vector<std::uint8_t> codes = weights.bytes(std::string(kLayer) + "wkv.weight");
  const std::vector<std::uint8_t> scales = weights.bytes(std::string(kLayer) + "wkv.scale");
  const std::vector<Bf16> q_weight = weights.bf16(std::string(kLayer) + "q_weight");
  const std::vector<Bf16> k_weight = weights.bf16(std::string(kLayer) + "k_weight");
  const std::vector<float> rows = gather(golden, weights, /*is_fast=*/true);
  std::vector<Bf16> kv(kRows * 5 * kHidden);
  Workers workers(2);
  ASSERT_OK(linear_cpu({.x = View<const float, 2>(rows.data(), kRows, kColumns * kDim),
                        .weight = {.format = WeightFormat::kFp8Block32,
                                   .data = codes.data(),
                                   .scales = scales.data(),
                                   .outputs = 5 * kHidden,
                                   .cols = kColumns * kDim},
                        .y_bf16 = kv.data()},
                       workers));
  std::vector<std::uint8_t> closed;
  for (const std::int64_t is_text : golden.integers("engram_unit.mask")) {
    closed.push_back(is_text != 0 ? 0 : 1);
  }

  for (const bool is_masked : {false, true}) {
    for (const bool is_fast : {false, true}) {
      std::vector<Bf16> h = golden.bf16("engram_unit.x");
      const EngramGateArgs args{.h = View<Bf16, 3>(h.data(), kRows, 4, kHidden),
                                .kv = View<const Bf16, 2>(kv.data(), kRows, 5 * kHidden),
                                .q_weight = View<const Bf16, 2>(q_weight.data(), 4, kHidden),
                                .k_weight = View<const Bf16, 2>(k_weight.data(), 4, kHidden),
                                .closed = is_masked ? closed.data() : nullptr};
      ASSERT_OK(is_fast ? engram_gate_cpu(args, workers) : engram_gate_reference(args));

      const std::vector<float> expected =
          golden.floats(is_masked ? "engram_unit.out_masked" : "engram_unit.out");
      test::expect_close(h, expected, {.ulps = 1.0F, .absolute = 1e-6F});
      EXPECT_LT(relative_l2(h, expected), 1e-4);
    }
  }
}

}  // namespace
}  // namespace deepinfer::kernels
