// A prompt's logits do not depend on how it is cut into chunks, on its neighbours in the batch, or
// on the number of threads: bit for bit.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/engine/model/test_model.h"
#include "tests/support/golden_file.h"

namespace deepinfer {
namespace {

using test::GoldenFile;
using test::TestModel;
using test::TestSequence;

TestModel& tiny() {
  static TestModel model(test::data_path("golden/tiny"));
  return model;
}

std::vector<TokenId> prompt(std::int64_t length) {
  static const GoldenFile golden(test::data_path("golden/tiny_prefill.safetensors"));
  auto ids = test::token_ids(golden.integers("p150.input_ids"));
  ids.resize(static_cast<std::size_t>(length));
  return ids;
}

std::vector<TokenId> part(const std::vector<TokenId>& ids, std::size_t begin, std::size_t count) {
  const auto first = ids.begin() + static_cast<std::ptrdiff_t>(begin);
  const std::size_t end = std::min(ids.size(), begin + count);
  return {first, ids.begin() + static_cast<std::ptrdiff_t>(end)};
}

// All logits of `ids`, cut into chunks, with `crowd` other sequences in every step.
std::vector<float> chunked_logits(TestModel& model, const std::vector<TokenId>& ids,
                                  std::size_t chunk, std::size_t crowd) {
  TestSequence sequence = model.sequence();
  std::vector<TestSequence> others;
  others.reserve(crowd);
  for (std::size_t i = 0; i < crowd; ++i) others.push_back(model.sequence());
  const std::vector<TokenId> other_ids = prompt(140);
  std::vector<float> all;
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk) {
    std::vector<engine::SequenceSlice> slices;
    // The others have chunks of their own sizes, and stand before and behind.
    for (std::size_t i = 0; i < crowd / 2; ++i) {
      const auto at = static_cast<std::size_t>(others[i].length());
      slices.push_back(others[i].next(part(other_ids, at, 1), 0, model.look_back()));
    }
    const auto tokens = part(ids, begin, chunk);
    slices.push_back(
        sequence.next(tokens, static_cast<std::int64_t>(tokens.size()), model.look_back()));
    for (std::size_t i = crowd / 2; i < crowd; ++i) {
      const auto at = static_cast<std::size_t>(others[i].length());
      const std::size_t count = at + i < other_ids.size() ? i : 1;
      slices.push_back(others[i].next(part(other_ids, at, count), 0, model.look_back()));
    }
    const std::vector<float> logits = model.run(slices);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

class ChunkSize : public testing::TestWithParam<std::size_t> {};

TEST_P(ChunkSize, LeavesEveryBitOfTheLogitsAloneAndInABatchOfSeven) {
  const std::vector<TokenId> ids = prompt(70);
  static const std::vector<float> whole = chunked_logits(tiny(), ids, ids.size(), 0);

  const std::vector<float> alone = chunked_logits(tiny(), ids, GetParam(), 0);
  const std::vector<float> in_batch = chunked_logits(tiny(), ids, GetParam(), 6);

  ASSERT_EQ(alone.size(), whole.size());
  EXPECT_EQ(std::memcmp(alone.data(), whole.data(), whole.size() * sizeof(float)), 0);
  ASSERT_EQ(in_batch.size(), whole.size());
  EXPECT_EQ(std::memcmp(in_batch.data(), whole.data(), whole.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(From1To17, ChunkSize, testing::Range<std::size_t>(1, 18));

TEST(Threads, LeaveEveryBitOfTheLogits) {
  TestModel two_threads(test::data_path("golden/tiny"), {.threads = 2});
  TestModel three_threads(test::data_path("golden/tiny"), {.threads = 3});
  const std::vector<TokenId> ids = prompt(100);

  const std::vector<float> one = chunked_logits(tiny(), ids, 33, 0);

  for (TestModel* model : {&two_threads, &three_threads}) {
    const std::vector<float> more = chunked_logits(*model, ids, 33, 2);
    ASSERT_EQ(more.size(), one.size());
    EXPECT_EQ(std::memcmp(more.data(), one.data(), one.size() * sizeof(float)), 0);
  }
}

// Rings wrap, blocks fill and selection bites far beyond the window: one long prefill and
// one-token steps agree bit for bit on nano too.
TEST(LongContext, StepsEqualOnePrefillOnNano) {
  TestModel nano(test::model_path("nano"));
  std::vector<TokenId> ids;
  ids.reserve(700);
  for (std::int32_t i = 0; i < 700; ++i) ids.push_back(TokenId{100 + (i * 37) % 3900});
  TestSequence whole = nano.sequence();
  TestSequence steps = nano.sequence();

  const std::vector<float> expected = nano.run(whole, ids, 1);
  std::vector<float> logits;
  for (std::size_t i = 0; i < ids.size(); i += i < 600 ? 50 : 1) {
    logits = nano.run(steps, part(ids, i, i < 600 ? 50 : 1), 1);
  }

  EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace deepinfer
