// The table rows and the gate: fast path against the reference, a row alone against the same row in
// a batch, closed gates, limits.
#include "kernels/engram/engram.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/kernels/kernel_data.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

// A table with every E4M3 code but NaN, under scales from 2^-40 (below the floor of the rounding
// that follows) to 2^4.
struct StoredTable {
  StoredTable(std::int64_t row_count, std::int64_t width)
      : rows(row_count),
        dim(width),
        codes(static_cast<std::size_t>(rows * dim)),
        scales(static_cast<std::size_t>(rows * dim / 32)) {
    std::mt19937_64 generator(3);
    for (std::uint8_t& code : codes) {
      const std::uint64_t drawn = generator();
      code = static_cast<std::uint8_t>((drawn & 0x80U) | (drawn >> 8U) % 0x7fU);
    }
    for (std::uint8_t& scale : scales) scale = static_cast<std::uint8_t>(87 + generator() % 45);
  }

  [[nodiscard]] EngramTable table() const {
    return {.codes = codes.data(), .scales = scales.data(), .rows = rows, .dim = dim};
  }

  std::int64_t rows;
  std::int64_t dim;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

TEST(EngramGatherCpu, EqualsTheReferenceBitForBit) {
  const StoredTable stored(200, 64);
  std::vector<std::int64_t> rows(std::size_t{50} * 4);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i * 37 % 200);
  std::vector<float> expected(rows.size() * 64);
  std::vector<float> y(expected.size());
  EngramGatherArgs args{.table = stored.table(),
                        .table_rows = View<const std::int64_t, 2>(rows.data(), 50, 4),
                        .y = View<float, 2>(expected.data(), 50, 4 * 64)};

  ASSERT_OK(engram_gather_reference(args));
  args.y = View<float, 2>(y.data(), 50, 4 * 64);

  for (const int threads : {1, 2}) {
    Workers workers(threads);
    ASSERT_OK(engram_gather_cpu(args, workers));
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], expected[i]) << i;
  }
}

TEST(EngramGatherLimits, RefuseRowsOutsideTheTable) {
  const StoredTable stored(10, 32);
  std::vector<float> y(64);
  Workers workers(1);
  for (const std::int64_t row : {std::int64_t{-1}, std::int64_t{10}}) {
    const std::vector<std::int64_t> rows = {0, row};
    const EngramGatherArgs args{.table = stored.table(),
                                .table_rows = View<const std::int64_t, 2>(rows.data(), 1, 2),
                                .y = View<float, 2>(y.data(), 1, 64)};
    EXPECT_FAILS(engram_gather_cpu(args, workers), ErrorCode::kInvalidArgument);
    EXPECT_FAILS(engram_gather_reference(args), ErrorCode::kInvalidArgument);
  }
}

struct GateBatch {
  GateBatch(std::int64_t row_count, std::int64_t width)
      : rows(row_count),
        hidden(width),
        h(test::random_bf16(rows * 4 * hidden, 2.0F, 1)),
        kv(test::random_bf16(rows * 5 * hidden, 1.0F, 2)),
        q_weight(test::random_bf16(4 * hidden, 1.0F, 3)),
        k_weight(test::random_bf16(4 * hidden, 1.0F, 4)) {}

  EngramGateArgs args(std::int64_t first, std::int64_t count, std::vector<Bf16>& stream) const {
    return {.h = View<Bf16, 3>(stream.data() + first * 4 * hidden, count, 4, hidden),
            .kv = View<const Bf16, 2>(kv.data() + first * 5 * hidden, count, 5 * hidden),
            .q_weight = View<const Bf16, 2>(q_weight.data(), 4, hidden),
            .k_weight = View<const Bf16, 2>(k_weight.data(), 4, hidden)};
  }

  std::int64_t rows;
  std::int64_t hidden;
  std::vector<Bf16> h;
  std::vector<Bf16> kv;
  std::vector<Bf16> q_weight;
  std::vector<Bf16> k_weight;
};

TEST(EngramGateCpu, IsNearTheReference) {
  for (const std::int64_t hidden : {16, 256, 5120}) {  // one vector, the tiny model, the released
    const GateBatch batch(3, hidden);
    std::vector<Bf16> fast = batch.h;
    std::vector<Bf16> slow = batch.h;
    Workers workers(2);

    ASSERT_OK(engram_gate_cpu(batch.args(0, 3, fast), workers));
    ASSERT_OK(engram_gate_reference(batch.args(0, 3, slow)));

    test::expect_close(fast, slow, {.ulps = 1.0F, .absolute = 1e-5F});
  }
}

TEST(EngramGateCpu, GivesARowTheSameBitsAloneInABatchAndOnTwoThreads) {
  const GateBatch batch(5, 48);
  std::vector<Bf16> together = batch.h;
  std::vector<Bf16> threaded = batch.h;
  std::vector<Bf16> alone = batch.h;
  Workers one(1);
  Workers two(2);

  ASSERT_OK(engram_gate_cpu(batch.args(0, 5, together), one));
  ASSERT_OK(engram_gate_cpu(batch.args(0, 5, threaded), two));
  for (std::int64_t row = 0; row < 5; ++row) {
    ASSERT_OK(engram_gate_cpu(batch.args(row, 1, alone), one));
  }

  EXPECT_TRUE(test::same_bits(together, threaded));
  EXPECT_TRUE(test::same_bits(together, alone));
}

TEST(EngramGate, LeavesARowWithAClosedGateAsItIs) {
  const GateBatch batch(2, 48);
  const std::vector<std::uint8_t> closed = {1, 0};
  std::vector<Bf16> h = batch.h;
  EngramGateArgs args = batch.args(0, 2, h);
  args.closed = closed.data();
  Workers workers(1);

  ASSERT_OK(engram_gate_cpu(args, workers));

  EXPECT_TRUE(test::same_bits(h.data(), batch.h.data(), std::int64_t{4} * 48));
  EXPECT_FALSE(test::same_bits(h, batch.h));
}

TEST(EngramGateLimits, RefuseShapesThatDisagree) {
  const GateBatch batch(2, 48);
  std::vector<Bf16> h = batch.h;
  Workers workers(1);
  EngramGateArgs short_kv = batch.args(0, 2, h);
  short_kv.kv = View<const Bf16, 2>(batch.kv.data(), 2, 4 * 48);
  EngramGateArgs ragged = batch.args(0, 2, h);
  ragged.h = View<Bf16, 3>(h.data(), 2, 4, 40);

  for (const EngramGateArgs& args : {short_kv, ragged}) {
    EXPECT_FAILS(engram_gate_cpu(args, workers), ErrorCode::kInvalidArgument);
    EXPECT_FAILS(engram_gate_reference(args), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::kernels
