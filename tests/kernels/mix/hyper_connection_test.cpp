// The hyper-connections: fast path against the reference at three widths, a row alone against the
// same row in a batch, and the limits.
#include "kernels/mix/hyper_connection.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/kernels/kernel_data.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

// The coefficients of a batch.
struct Coefficients {
  explicit Coefficients(std::int64_t rows)
      : pre(static_cast<std::size_t>(rows * 4)), post(pre.size()), comb(pre.size() * 4) {}

  std::vector<float> pre;
  std::vector<float> post;
  std::vector<float> comb;
};

struct Batch {
  Batch(std::int64_t row_count, std::int64_t width)
      : rows(row_count),
        hidden(width),
        h(test::random_bf16(rows * 4 * hidden, 3.0F, 1)),
        y(test::random_bf16(rows * hidden, 1.0F, 2)),
        fn(test::random_floats(24 * (4 * hidden), 0.1F, 3)),
        scale(test::random_floats(3, 1.0F, 4)),
        base(test::random_floats(24, 2.0F, 5)) {}

  MixArgs mix(std::int64_t first, std::int64_t count, Coefficients& to) const {
    return {.h = View<const Bf16, 3>(h.data() + first * 4 * hidden, count, 4, hidden),
            .fn = View<const float, 2>(fn.data(), 24, 4 * hidden),
            .scale = View<const float, 1>(scale.data(), 3),
            .base = View<const float, 1>(base.data(), 24),
            .pre = View<float, 2>(to.pre.data() + first * 4, count, 4),
            .post = View<float, 2>(to.post.data() + first * 4, count, 4),
            .comb = View<float, 3>(to.comb.data() + first * 16, count, 4, 4)};
  }
  CollapseArgs collapse(const Coefficients& from, std::vector<Bf16>& x) const {
    return {.h = View<const Bf16, 3>(h.data(), rows, 4, hidden),
            .pre = View<const float, 2>(from.pre.data(), rows, 4),
            .x = View<Bf16, 2>(x.data(), rows, hidden)};
  }
  StreamUpdateArgs update(const Coefficients& from, std::vector<Bf16>& stream) const {
    return {.h = View<Bf16, 3>(stream.data(), rows, 4, hidden),
            .y = View<const Bf16, 2>(y.data(), rows, hidden),
            .post = View<const float, 2>(from.post.data(), rows, 4),
            .comb = View<const float, 3>(from.comb.data(), rows, 4, 4)};
  }

  std::int64_t rows;
  std::int64_t hidden;
  std::vector<Bf16> h;
  std::vector<Bf16> y;
  std::vector<float> fn;
  std::vector<float> scale;
  std::vector<float> base;
};

struct Case {
  std::int64_t rows;
  std::int64_t hidden;
};
// One vector of one row; rows that fill no tile; the released width.
constexpr Case kCases[] = {{1, 16}, {7, 240}, {2, 5120}};

TEST(MixCpu, IsNearTheReference) {
  for (const Case& c : kCases) {
    const Batch batch(c.rows, c.hidden);
    Coefficients fast(c.rows);
    Coefficients slow(c.rows);
    Workers workers(2);

    ASSERT_OK(mix_cpu(batch.mix(0, c.rows, fast), workers));
    ASSERT_OK(mix_reference(batch.mix(0, c.rows, slow)));

    test::expect_close(fast.pre, slow.pre, {.absolute = 1e-5F});  // m differs in its last bits
    test::expect_close(fast.post, slow.post, {.absolute = 1e-5F});
    test::expect_close(fast.comb, slow.comb, {.absolute = 2e-5F});
  }
}

TEST(MixCpu, GivesARowTheSameBitsAloneInABatchAndOnTwoThreads) {
  const Batch batch(7, 240);
  Coefficients together(7);
  Coefficients threaded(7);
  Coefficients alone(7);
  Workers one(1);
  Workers two(2);

  ASSERT_OK(mix_cpu(batch.mix(0, 7, together), one));
  ASSERT_OK(mix_cpu(batch.mix(0, 7, threaded), two));
  for (std::int64_t row = 0; row < 7; ++row) ASSERT_OK(mix_cpu(batch.mix(row, 1, alone), one));

  for (const Coefficients* other : {&threaded, &alone}) {
    EXPECT_TRUE(test::same_bits(together.pre, other->pre));
    EXPECT_TRUE(test::same_bits(together.post, other->post));
    EXPECT_TRUE(test::same_bits(together.comb, other->comb));
  }
}

TEST(CollapseAndUpdateCpu, AreNearTheReferenceOnOneThreadAndOnTwo) {
  for (const Case& c : kCases) {
    const Batch batch(c.rows, c.hidden);
    Coefficients coefficients(c.rows);
    ASSERT_OK(mix_reference(batch.mix(0, c.rows, coefficients)));
    std::vector<Bf16> expected_x(batch.y.size());
    std::vector<Bf16> expected_h = batch.h;
    ASSERT_OK(collapse_reference(batch.collapse(coefficients, expected_x)));
    ASSERT_OK(stream_update_reference(batch.update(coefficients, expected_h)));

    for (const int threads : {1, 2}) {
      Workers workers(threads);
      std::vector<Bf16> x(batch.y.size());
      std::vector<Bf16> h = batch.h;
      ASSERT_OK(collapse_cpu(batch.collapse(coefficients, x), workers));
      ASSERT_OK(stream_update_cpu(batch.update(coefficients, h), workers));

      test::expect_close(x, expected_x, {.ulps = 1.0F, .absolute = 1e-6F});
      test::expect_close(h, expected_h, {.ulps = 1.0F, .absolute = 1e-6F});
    }
  }
}

TEST(HyperConnectionLimits, RefuseBeforeAnythingIsRead) {
  const Batch batch(2, 32);
  Coefficients coefficients(2);
  std::vector<Bf16> x(batch.y.size());
  std::vector<Bf16> stream = batch.h;
  Workers workers(1);
  MixArgs ragged = batch.mix(0, 2, coefficients);
  ragged.h = View<const Bf16, 3>(batch.h.data(), 2, 4, 24);
  MixArgs no_iterations = batch.mix(0, 2, coefficients);
  no_iterations.iterations = 0;
  CollapseArgs three_copies = batch.collapse(coefficients, x);
  three_copies.h = View<const Bf16, 3>(batch.h.data(), 2, 3, 32);
  StreamUpdateArgs fewer_rows = batch.update(coefficients, stream);
  fewer_rows.y = View<const Bf16, 2>(batch.y.data(), 1, 32);

  EXPECT_FAILS(mix_cpu(ragged, workers), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(mix_reference(no_iterations), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(collapse_cpu(three_copies, workers), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(collapse_reference(three_copies), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(stream_update_cpu(fewer_rows, workers), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(stream_update_reference(fewer_rows), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::kernels
