// tests/data/golden/tiny_decode: one-token steps after a prefill, forced and greedy.
#include <gtest/gtest.h>

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
constexpr double kLargestGap = 2.5;
constexpr float kNearTie = 0.6F;  // a greedy step with a smaller margin may go either way

class TinyDecode : public testing::TestWithParam<const char*> {
 protected:
  static TestModel& model() {
    static TestModel tiny(test::data_path("golden/tiny"));
    return tiny;
  }
  static const GoldenFile& golden() {
    static const GoldenFile file(test::data_path("golden/tiny_decode.safetensors"));
    return file;
  }
};

TEST_P(TinyDecode, ForcedStepsMatchTheGolden) {
  const std::string name = std::string("forced_") + GetParam() + ".";
  const auto prompt = test::token_ids(golden().integers(name + "prompt_ids"));
  const auto forced = test::token_ids(golden().integers(name + "forced_ids"));
  const std::vector<float> expected = golden().floats(name + "logits");
  const auto vocabulary = static_cast<std::size_t>(model().shape().vocabulary);
  TestSequence sequence = model().sequence();

  std::vector<float> logits = model().run(sequence, prompt, 1);
  for (const TokenId token : forced) {
    const std::vector<float> row = model().run(sequence, {token}, 1);
    logits.insert(logits.end(), row.begin(), row.end());
  }

  const test::Distance gap = distance(logits, expected);
  EXPECT_LE(gap.mean, kMeanGap);
  EXPECT_LE(gap.largest, kLargestGap);
  std::size_t same = 0;
  for (std::size_t row = 0; row <= forced.size(); ++row) {
    const std::span<const float> got(logits.data() + row * vocabulary, vocabulary);
    const std::span<const float> want(expected.data() + row * vocabulary, vocabulary);
    if (best_of(got) == best_of(want)) ++same;
  }
  EXPECT_GE(same * 10, (forced.size() + 1) * 9);
}

TEST_P(TinyDecode, LongPrefillMatchesTheGolden) {
  const std::string name = std::string("forced_") + GetParam() + ".";
  auto ids = test::token_ids(golden().integers(name + "prompt_ids"));
  const auto forced = test::token_ids(golden().integers(name + "forced_ids"));
  ids.insert(ids.end(), forced.begin(), forced.end());
  TestSequence sequence = model().sequence();

  const std::vector<float> logits =
      model().run(sequence, ids, static_cast<std::int64_t>(forced.size()) + 1);

  const test::Distance gap = distance(logits, golden().floats(name + "prefill_logits"));
  EXPECT_LE(gap.mean, kMeanGap);
  EXPECT_LE(gap.largest, kLargestGap);
}

TEST_P(TinyDecode, GreedyMatchesTheGoldenUpToTheFirstNearTie) {
  const std::string name = std::string("greedy_") + GetParam() + ".";
  const auto prompt = test::token_ids(golden().integers(name + "prompt_ids"));
  const auto expected = golden().integers(name + "output_ids");
  const std::vector<float> margins = golden().floats(name + "margins");
  TestSequence sequence = model().sequence();

  std::int64_t token = best_of(model().run(sequence, prompt, 1));
  for (std::size_t step = 0; step < expected.size(); ++step) {
    if (margins[step] < kNearTie && token != expected[step]) return;
    ASSERT_EQ(token, expected[step]) << "step " << step << ", margin " << margins[step];
    token = best_of(model().run(sequence, test::token_ids({token}), 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyDecode, testing::Values("a", "b", "c"),
                         [](const testing::TestParamInfo<const char*>& test) {
                           return std::string(test.param);
                         });

}  // namespace
}  // namespace deepinfer
