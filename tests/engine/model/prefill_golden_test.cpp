// tests/data/golden/tiny_prefill: whole prompts through the whole model, with both implementations
// of the operations. Tolerances: tests/data/golden/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/engine/model/test_model.h"
#include "tests/support/golden_file.h"

namespace deepinfer {
namespace {

using test::best_of;
using test::distance;
using test::GoldenFile;
using test::TestModel;
using test::TestSequence;

constexpr double kMeanGap = 0.25;
constexpr double kLargestLastGap = 1.5;
constexpr double kLargestRowGap = 2.5;
constexpr float kSureMargin = 1.0F;  // best minus second logit: above it the best token is fixed

float margin_of(std::span<const float> logits) {
  std::vector<float> sorted(logits.begin(), logits.end());
  std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<>());
  return sorted[0] - sorted[1];
}

struct Case {
  const char* numerics;
  std::int64_t length;
};

class TinyPrefill : public testing::TestWithParam<Case> {
 protected:
  static TestModel& model(const std::string& numerics) {
    static TestModel fast(test::data_path("golden/tiny"));
    static TestModel reference(test::data_path("golden/tiny"), {.ops = engine::reference_ops()});
    return numerics == "fast" ? fast : reference;
  }
  static const GoldenFile& golden() {
    static const GoldenFile file(test::data_path("golden/tiny_prefill.safetensors"));
    return file;
  }
};

TEST_P(TinyPrefill, LogitsMatchTheGolden) {
  const std::string prompt = "p" + std::to_string(GetParam().length) + ".";
  TestModel& tiny = model(GetParam().numerics);
  const auto ids = test::token_ids(golden().integers(prompt + "input_ids"));
  const auto rows = static_cast<std::int64_t>(ids.size());
  const auto vocabulary = static_cast<std::size_t>(tiny.shape().vocabulary);
  TestSequence sequence = tiny.sequence();

  const std::vector<float> logits = tiny.run(sequence, ids, rows);

  const std::span<const float> last(logits.data() + logits.size() - vocabulary, vocabulary);
  const std::vector<float> expected = golden().floats(prompt + "last_logits");
  const test::Distance gap = distance(last, expected);
  EXPECT_LE(gap.mean, kMeanGap);
  EXPECT_LE(gap.largest, kLargestLastGap);
  if (margin_of(expected) > kSureMargin) {
    EXPECT_EQ(best_of(last), best_of(expected));
  }
  RecordProperty("mean_gap", std::to_string(gap.mean));
  RecordProperty("largest_gap", std::to_string(gap.largest));

  if (!golden().has(prompt + "all_logits")) return;
  const std::vector<float> all = golden().floats(prompt + "all_logits");
  const test::Distance all_gap = distance(logits, all);
  EXPECT_LE(all_gap.mean, kMeanGap);
  EXPECT_LE(all_gap.largest, kLargestRowGap);
  std::size_t same = 0;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const std::span<const float> got(logits.data() + row * vocabulary, vocabulary);
    const std::span<const float> want(all.data() + row * vocabulary, vocabulary);
    if (best_of(got) == best_of(want)) ++same;
    if (margin_of(want) > kSureMargin) {
      EXPECT_EQ(best_of(got), best_of(want)) << "row " << row;
    }
  }
  EXPECT_GE(same * 10, ids.size() * 9);
}

// The reference takes seconds for the two longest, and reads no code that the others do not.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t length : {1, 2, 3, 15, 16, 17, 31, 33, 64, 150, 300}) {
    all.push_back({"fast", length});
    if (length <= 64) all.push_back({"reference", length});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyPrefill, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& test) {
                           return std::string("p") + std::to_string(test.param.length) + "_" +
                                  test.param.numerics;
                         });

}  // namespace
}  // namespace deepinfer
