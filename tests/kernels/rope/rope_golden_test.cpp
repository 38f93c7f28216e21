// rope against golden/units.safetensors: rope.window and rope.compressed (released parameters),
// rope.tiny_window and rope.tiny_compressed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/rope/rope.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

struct RopeGolden {
  std::string name;
  RopeParameters parameters;
};

const test::GoldenFile& units() {
  static const test::GoldenFile file(test::data_path("golden/units.safetensors"));
  return file;
}

struct Table {
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
  std::vector<float> cos;
  std::vector<float> sin;
};

// The table of the golden's own positions: stored for the released parameters, 0..319 for tiny.
Table make_table(const RopeGolden& golden) {
  std::vector<std::int64_t> positions;
  if (golden.name.find("tiny") == std::string::npos) {
    positions = units().integers("rope.positions");
  } else {
    positions.resize(320);
    std::iota(positions.begin(), positions.end(), 0);
  }
  const std::vector<float> frequencies = rope_frequencies(golden.parameters);
  Table table;
  table.rows = static_cast<std::int64_t>(positions.size());
  table.pairs = static_cast<std::int64_t>(frequencies.size());
  table.cos.resize(positions.size() * frequencies.size());
  table.sin.resize(positions.size() * frequencies.size());
  EXPECT_TRUE(rope_table({View<const std::int64_t, 1>(positions.data(), table.rows),
                          View<const float, 1>(frequencies.data(), table.pairs),
                          View<float, 2>(table.cos.data(), table.rows, table.pairs),
                          View<float, 2>(table.sin.data(), table.rows, table.pairs)})
                  .has_value());
  return table;
}

class RopeGoldenTest : public testing::TestWithParam<RopeGolden> {};

// rope.tiny_compressed was derived from 320 positions, which do not pin its slow pairs down.
TEST_P(RopeGoldenTest, FrequenciesAreEqualWhereTheGoldenIsExactElseWithinAMillionth) {
  const std::vector<float> frequencies = rope_frequencies(GetParam().parameters);
  const std::vector<float> expected = units().floats(GetParam().name + ".freqs");
  if (GetParam().name != "rope.tiny_compressed") {
    EXPECT_EQ(frequencies, expected);
    return;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(frequencies[i] / expected[i], 1.0F, 1e-6F) << i;
  }
}

TEST_P(RopeGoldenTest, CosAndSinAreWithinAMillionth) {
  const Table table = make_table(GetParam());
  const auto cos = units().floats(GetParam().name + ".cos");
  const auto sin = units().floats(GetParam().name + ".sin");
  ASSERT_EQ(table.cos.size(), cos.size());

  for (std::size_t i = 0; i < cos.size(); ++i) {
    EXPECT_NEAR(table.cos[i], cos[i], 1e-6);
    EXPECT_NEAR(table.sin[i], sin[i], 1e-6);
  }
}

TEST_P(RopeGoldenTest, RotationsAreWithinOneBf16StepInBothEntryPoints) {
  const std::string& name = GetParam().name;
  if (!units().has(name + ".x")) return;  // the tiny goldens are tables only
  const Table table = make_table(GetParam());
  const std::int64_t heads = units().shape(name + ".x")[1];
  const std::int64_t n = units().shape(name + ".x")[2];
  Workers workers(2);
  std::size_t differ = 0;
  for (const auto direction : {RopeDirection::kForward, RopeDirection::kInverse}) {
    const auto expected =
        units().bf16(name + (direction == RopeDirection::kForward ? ".rotated" : ".inverse"));
    for (const bool is_fast : {false, true}) {
      std::vector<Bf16> x = units().bf16(name + ".x");
      const RotateArgs args{View<Bf16, 3>(x.data(), table.rows, heads, n),
                            View<const float, 2>(table.cos.data(), table.rows, table.pairs),
                            View<const float, 2>(table.sin.data(), table.rows, table.pairs),
                            direction};
      ASSERT_OK(is_fast ? rotate_cpu(args, workers) : rotate_reference(args));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const int distance = std::abs(x[i].bits - expected[i].bits);
        EXPECT_LE(distance, 1) << i;
        differ += distance == 0 ? 0 : 1;
      }
    }
  }
  EXPECT_EQ(differ, 0U);
}

constexpr YarnScaling kReleased{
    .factor = 16, .beta_fast = 32, .beta_slow = 1, .original_positions = 65536};
constexpr YarnScaling kTiny{
    .factor = 4, .beta_fast = 32, .beta_slow = 1, .original_positions = 128};

INSTANTIATE_TEST_SUITE_P(
    Units, RopeGoldenTest,
    testing::Values(RopeGolden{"rope.window", {.dims = 64, .base = 10000, .yarn = {}}},
                    RopeGolden{"rope.compressed", {.dims = 64, .base = 160000, .yarn = kReleased}},
                    RopeGolden{"rope.tiny_window", {.dims = 32, .base = 10000, .yarn = {}}},
                    RopeGolden{"rope.tiny_compressed",
                               {.dims = 32, .base = 160000, .yarn = kTiny}}),
    [](const auto& test_case) { return test_case.param.name.substr(5); });

}  // namespace
}  // namespace deepinfer::kernels
