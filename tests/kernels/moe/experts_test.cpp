// The experts: fast path against the reference, a row alone against the same row in a batch, the
// middle of an expert, the limits.
#include "kernels/moe/experts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/quant/activations.h"
#include "tests/kernels/kernel_data.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

// Codes and scales of a random matrix; scales between 2^-7 and 2^-4.
class StoredMatrix {
 public:
  StoredMatrix(WeightFormat format, std::int64_t outputs, std::int64_t cols, std::uint64_t seed)
      : format_(format), outputs_(outputs), cols_(cols) {
    std::mt19937_64 generator(seed);
    const bool is_fp4 = format == WeightFormat::kFp4Group32;
    codes_.resize(static_cast<std::size_t>(is_fp4 ? outputs * cols / 2 : outputs * cols));
    scales_.resize(
        static_cast<std::size_t>(is_fp4 ? outputs * cols / 32 : (outputs + 31) / 32 * (cols / 32)));
    // FP8 codes of magnitude up to 15 have no NaN among them.
    for (std::uint8_t& code : codes_) {
      const auto drawn = static_cast<std::uint8_t>(generator() >> 56U);
      code = is_fp4 ? drawn : static_cast<std::uint8_t>((drawn & 0x80U) | (drawn % 0x58U));
    }
    for (std::uint8_t& scale : scales_) scale = static_cast<std::uint8_t>(120 + generator() % 4);
  }

  [[nodiscard]] WeightMatrix matrix() const {
    return {.format = format_,
            .data = codes_.data(),
            .scales = scales_.data(),
            .outputs = outputs_,
            .cols = cols_};
  }

 private:
  WeightFormat format_;
  std::int64_t outputs_;
  std::int64_t cols_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
};

struct StoredExpert {
  StoredExpert(WeightFormat format, std::int64_t inter, std::int64_t hidden, std::uint64_t seed)
      : w1(format, inter, hidden, seed),
        w3(format, inter, hidden, seed + 1),
        w2(format, hidden, inter, seed + 2) {}

  [[nodiscard]] ExpertWeights weights() const {
    return {.w1 = w1.matrix(), .w3 = w3.matrix(), .w2 = w2.matrix()};
  }

  StoredMatrix w1;
  StoredMatrix w3;
  StoredMatrix w2;
};

constexpr std::int64_t kExperts = 5;
constexpr std::int64_t kTop = 3;

struct Batch {
  Batch(std::int64_t row_count, std::int64_t inter, std::int64_t width)
      : rows(row_count), hidden(width), shared_store(WeightFormat::kFp8Block32, inter, width, 7) {
    for (std::int64_t e = 0; e < kExperts; ++e) {
      stores.emplace_back(WeightFormat::kFp4Group32, inter, hidden,
                          static_cast<std::uint64_t>(100 * (e + 1)));
    }
    for (const StoredExpert& store : stores) experts.push_back(store.weights());
    shared = shared_store.weights();
    x.resize(static_cast<std::size_t>(rows * hidden));
    const std::vector<Bf16> input = test::random_bf16(rows * hidden, 1.0F, 9);
    const Status status =
        quantize_activations_reference({.x = View<const Bf16, 2>(input.data(), rows, hidden),
                                        .y = View<float, 2>(x.data(), rows, hidden)});
    EXPECT_TRUE(status.has_value());
    for (std::int64_t row = 0; row < rows; ++row) {
      // Expert 1 is never chosen; ids in no order; some experts get rows apart from each other.
      const std::int32_t first = row % 2 == 0 ? 4 : 3;
      ids.insert(ids.end(), {first, 0, 2});
    }
    weights = test::random_floats(rows * kTop, 1.0F, 10);
  }

  ExpertsArgs args(std::int64_t first, std::int64_t count, std::vector<Bf16>& y) const {
    return {.x = View<const float, 2>(x.data() + first * hidden, count, hidden),
            .ids = View<const std::int32_t, 2>(ids.data() + first * kTop, count, kTop),
            .weights = View<const float, 2>(weights.data() + first * kTop, count, kTop),
            .experts = experts,
            .shared = &shared,
            .y = View<Bf16, 2>(y.data() + first * hidden, count, hidden),
            .limit = 3.0F};
  }

  std::int64_t rows;
  std::int64_t hidden;
  std::vector<StoredExpert> stores;
  StoredExpert shared_store;
  std::vector<ExpertWeights> experts;
  ExpertWeights shared;
  std::vector<float> x;
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

TEST(ExpertsCpu, IsNearTheReference) {
  const Batch batch(7, 96, 256);  // the tiny model
  std::vector<Bf16> y(std::size_t{7} * 256);
  std::vector<Bf16> expected(y.size());
  Workers workers(2);
  Scratch scratch;

  ASSERT_OK(experts_cpu(batch.args(0, 7, y), workers, scratch));
  ASSERT_OK(experts_reference(batch.args(0, 7, expected)));

  // A sum that differs in its last bit may flip a rounding to FP8 in the middle: a few in a thousand
  // of the terms move by a sixteenth.
  test::expect_close(y, expected, {.ulps = 2.0F, .absolute = 2e-2F});
}

TEST(ExpertsCpu, GivesARowTheSameBitsAloneInABatchAndOnTwoThreads) {
  const Batch batch(7, 64, 96);
  std::vector<Bf16> together(std::size_t{7} * 96);
  std::vector<Bf16> threaded(together.size());
  std::vector<Bf16> alone(together.size());
  Workers one(1);
  Workers two(2);
  Scratch scratch;

  ASSERT_OK(experts_cpu(batch.args(0, 7, together), one, scratch));
  ASSERT_OK(experts_cpu(batch.args(0, 7, threaded), two, scratch));
  for (std::int64_t row = 0; row < 7; ++row) {
    ASSERT_OK(experts_cpu(batch.args(row, 1, alone), one, scratch));
  }

  EXPECT_TRUE(test::same_bits(together, threaded));
  EXPECT_TRUE(test::same_bits(together, alone));
}

TEST(SwigluCpu, IsNearTheReferenceWithAndWithoutAClamp) {
  const std::vector<Bf16> gate = test::random_bf16(std::int64_t{5} * 96, 20.0F, 1);
  const std::vector<Bf16> up = test::random_bf16(std::int64_t{5} * 96, 20.0F, 2);
  const std::vector<float> weights = test::random_floats(5, 1.0F, 3);
  Workers workers(2);
  for (const float limit : {0.0F, 10.0F}) {
    for (const float* weight : {weights.data(), static_cast<const float*>(nullptr)}) {
      std::vector<Bf16> h(gate.size());
      std::vector<Bf16> expected(gate.size());
      SwigluArgs args{.gate = View<const Bf16, 2>(gate.data(), 5, 96),
                      .up = View<const Bf16, 2>(up.data(), 5, 96),
                      .weights = weight,
                      .h = View<Bf16, 2>(h.data(), 5, 96),
                      .limit = limit};

      ASSERT_OK(swiglu_cpu(args, workers));
      args.h = View<Bf16, 2>(expected.data(), 5, 96);
      ASSERT_OK(swiglu_reference(args));

      test::expect_close(h, expected, {.ulps = 1.0F, .absolute = 0.0F});
    }
  }
}

TEST(ExpertsLimits, RefuseBeforeAnythingIsRead) {
  Batch batch(2, 64, 96);
  std::vector<Bf16> y(std::size_t{2} * 96);
  Workers workers(1);
  Scratch scratch;
  const std::vector<std::int32_t> twice = {0, 2, 2, 0, 1, 2};
  const std::vector<std::int32_t> outside = {0, 2, 5, 0, 1, 2};
  std::vector<ExpertsArgs> bad(4, batch.args(0, 2, y));
  bad[0].ids = View<const std::int32_t, 2>(twice.data(), 2, kTop);
  bad[1].ids = View<const std::int32_t, 2>(outside.data(), 2, kTop);
  bad[2].experts = {};
  ExpertWeights other_shape = batch.shared;
  other_shape.w2.cols = 32;
  bad[3].shared = &other_shape;

  for (const ExpertsArgs& args : bad) {
    EXPECT_FAILS(experts_cpu(args, workers, scratch), ErrorCode::kInvalidArgument);
    EXPECT_FAILS(experts_reference(args), ErrorCode::kInvalidArgument);
  }
}

TEST(ExpertsCpu, AcceptsAnEmptyBatch) {
  const Batch batch(1, 64, 96);
  std::vector<Bf16> y(96);
  Workers workers(1);
  Scratch scratch;

  EXPECT_TRUE(experts_cpu(batch.args(0, 0, y), workers, scratch).has_value());
}

}  // namespace
}  // namespace deepinfer::kernels
