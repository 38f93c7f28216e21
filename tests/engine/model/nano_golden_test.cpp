// examples/models/nano/goldens: logits and greedy tokens of four prompts of the trained model.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/engine/model/test_model.h"
#include "tests/support/golden_file.h"

namespace deepinfer {
namespace {

using test::best_of;
using test::GoldenFile;
using test::TestModel;
using test::TestSequence;

constexpr double kMeanGap = 0.25;
constexpr double kLargestGap = 2.5;
constexpr float kNearTie = 0.05F;  // as the held-out files define it
constexpr std::size_t kTop = 20;   // logits stored for each row

class NanoPrompt : public testing::TestWithParam<int> {
 protected:
  static TestModel& model() {
    static TestModel nano(test::model_path("nano"));
    return nano;
  }
  static const GoldenFile& golden() {
    static const GoldenFile file(test::model_path("nano") / "goldens.safetensors");
    return file;
  }
};

TEST_P(NanoPrompt, LogitsMatchTheGolden) {
  const std::string name = "p" + std::to_string(GetParam()) + ".";
  const auto ids = test::token_ids(golden().integers(name + "input_ids"));
  const auto top_ids = golden().integers(name + "top_ids");
  const std::vector<float> top_logits = golden().floats(name + "top_logits");
  const std::vector<float> logsumexp = golden().floats(name + "logsumexp");
  const auto vocabulary = static_cast<std::size_t>(model().shape().vocabulary);
  TestSequence sequence = model().sequence();

  const std::vector<float> logits =
      model().run(sequence, ids, static_cast<std::int64_t>(ids.size()));

  double mean = 0;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < vocabulary; ++i) sum += std::exp(logits[row * vocabulary + i]);
    EXPECT_NEAR(std::log(sum), logsumexp[row], kLargestGap) << "row " << row;
    for (std::size_t k = row * kTop; k < (row + 1) * kTop; ++k) {
      const float got = logits[row * vocabulary + static_cast<std::size_t>(top_ids[k])];
      EXPECT_NEAR(got, top_logits[k], kLargestGap) << "row " << row;
      mean += std::abs(got - top_logits[k]) / static_cast<double>(top_ids.size());
    }
  }
  EXPECT_LE(mean, kMeanGap);
  RecordProperty("mean_gap", std::to_string(mean));
}

// Along the golden's own tokens; prompt 3 is the start of a story, where several words fit equally
// well, and a step whose two best logits are closer than any rounding may go either way.
TEST_P(NanoPrompt, GreedyTokensEqualTheGolden) {
  const std::string name = "p" + std::to_string(GetParam()) + ".";
  const auto expected = golden().integers(name + "greedy_ids");
  const std::vector<float> margins = golden().floats(name + "greedy_margins");
  TestSequence sequence = model().sequence();

  std::int64_t token =
      best_of(model().run(sequence, test::token_ids(golden().integers(name + "input_ids")), 1));

  for (std::size_t step = 0; step < expected.size(); ++step) {
    if (GetParam() != 3 || margins[step] >= kNearTie) {
      ASSERT_EQ(token, expected[step]) << "step " << step << ", margin " << margins[step];
    }
    token = best_of(model().run(sequence, test::token_ids({expected[step]}), 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, NanoPrompt, testing::Range(0, 4));

}  // namespace
}  // namespace deepinfer
