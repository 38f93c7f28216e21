// sparse_attention: rings, fresh keys and pages against a naive gather; fast path against the
// reference; a row alone against the same row in a batch; limits.
#include "kernels/attention/sparse_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention/attend.h"
#include "kernels/quant/cache_formats.h"
#include "tests/kernels/kernel_data.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

struct Shape {
  std::int64_t heads;
  std::int64_t n;
  std::int64_t window;
  std::int64_t ring_slots;
  std::int64_t top;
  std::int64_t entries_per_page;
};

constexpr std::int64_t kPageOffset = 48;

// One sequence of `length` tokens and as many global entries, as the caches hold it, and the same
// rows in the open for a naive gather.
struct Sequence {
  Sequence(const Shape& shape, std::int64_t length, std::int64_t fresh_begin, std::uint64_t seed)
      : window_bytes(row_bytes(CacheFormat::kFp8E8m0, shape.n)),
        global_bytes(row_bytes(CacheFormat::kFp4E4m3, shape.n)),
        window(pack(CacheFormat::kFp8E8m0, shape.n, length, seed)),
        global(pack(CacheFormat::kFp4E4m3, shape.n, length, seed + 1)),
        ring(static_cast<std::size_t>(shape.ring_slots * window_bytes)) {
    for (std::int64_t p = 0; p < fresh_begin; ++p) {
      std::copy_n(window.begin() + p * window_bytes, window_bytes,
                  ring.begin() + p % shape.ring_slots * window_bytes);
    }
    for (std::int64_t j = 0; j < length; ++j) {
      if (j % shape.entries_per_page == 0) {
        pages.emplace_back(
            static_cast<std::size_t>(kPageOffset + shape.entries_per_page * global_bytes));
      }
      std::copy_n(global.begin() + j * global_bytes, global_bytes,
                  pages.back().begin() + kPageOffset + j % shape.entries_per_page * global_bytes);
    }
    for (const auto& page : pages) page_list.push_back(page.data());
  }

  static std::vector<std::uint8_t> pack(CacheFormat format, std::int64_t n, std::int64_t rows,
                                        std::uint64_t seed) {
    const std::vector<Bf16> values = test::random_bf16(rows * n, 2.0F, seed);
    std::vector<std::uint8_t> packed(static_cast<std::size_t>(rows * row_bytes(format, n)));
    const Status status = pack_reference(
        {.format = format,
         .values = View<const Bf16, 2>(values.data(), rows, n),
         .packed = View<std::uint8_t, 2>(packed.data(), rows, row_bytes(format, n))});
    EXPECT_TRUE(status.has_value());
    return packed;
  }

  std::int64_t window_bytes;
  std::int64_t global_bytes;
  std::vector<std::uint8_t> window;  // [length] entries
  std::vector<std::uint8_t> global;
  std::vector<std::uint8_t> ring;
  std::vector<std::vector<std::uint8_t>> pages;
  std::vector<const std::uint8_t*> page_list;
};

// A batch over two sequences: positions, fresh ranges and selections of every kind.
struct Batch {
  explicit Batch(const Shape& s)
      : shape(s),
        fresh_begin{3 * s.ring_slots + 5, 0},
        sequences{Sequence(s, fresh_begin[0] + 4, fresh_begin[0], 11), Sequence(s, 4, 0, 23)} {
    for (std::size_t which = 0; which < 2; ++which) {
      for (std::int64_t i = 0; i < 4; ++i) add_row(which, fresh_begin[which] + i);
    }
    rows[2].first_visible = rows[2].position - 1;  // a cut window
    const auto count = static_cast<std::int64_t>(rows.size());
    q = test::random_bf16(count * s.heads * s.n, 1.0F, 5);
    sink = test::random_floats(s.heads, 2.0F, 6);
    out.resize(q.size());
  }

  void add_row(std::size_t which, std::int64_t position) {
    const Sequence& sequence = sequences[which];
    rows.push_back({.position = position,
                    .first_visible = 0,
                    .ring = sequence.ring.data(),
                    .fresh = sequence.window.data() + fresh_begin[which] * sequence.window_bytes,
                    .fresh_begin = fresh_begin[which],
                    .pages = sequence.page_list.data()});
    which_sequence.push_back(which);
    // Every third entry from the row's number on.
    for (std::int64_t i = 0; i < shape.top; ++i) {
      const std::int64_t entry = static_cast<std::int64_t>(rows.size()) + 3 * i;
      selected.push_back(entry <= position ? static_cast<std::int32_t>(entry) : -1);
    }
  }

  SparseAttentionArgs args(std::int64_t first, std::int64_t count, std::vector<Bf16>& to) const {
    const std::int64_t row = shape.heads * shape.n;
    return {.q = View<const Bf16, 3>(q.data() + first * row, count, shape.heads, shape.n),
            .out = View<Bf16, 3>(to.data() + first * row, count, shape.heads, shape.n),
            .sink = View<const float, 1>(sink.data(), shape.heads),
            .rows = rows.data() + first,
            .selected = shape.top == 0 ? nullptr : selected.data() + first * shape.top,
            .top = shape.top,
            .window = shape.window,
            .ring_slots = shape.ring_slots,
            .entries_per_page = shape.entries_per_page,
            .page_offset = kPageOffset,
            .scale = 1.0F / std::sqrt(static_cast<float>(shape.n))};
  }
  SparseAttentionArgs args() { return args(0, static_cast<std::int64_t>(rows.size()), out); }

  Shape shape;
  std::int64_t fresh_begin[2];
  Sequence sequences[2];
  std::vector<AttentionRow> rows;
  std::vector<std::size_t> which_sequence;
  std::vector<std::int32_t> selected;
  std::vector<Bf16> q;
  std::vector<float> sink;
  std::vector<Bf16> out;
};

// Why each shape: the tiny model; heads and slots that fill no tile or block; window only; the
// released layer.
const Shape kShapes[] = {
    {.heads = 8, .n = 64, .window = 16, .ring_slots = 22, .top = 8, .entries_per_page = 4},
    {.heads = 5, .n = 32, .window = 50, .ring_slots = 50, .top = 33, .entries_per_page = 7},
    {.heads = 8, .n = 64, .window = 16, .ring_slots = 16, .top = 0, .entries_per_page = 4},
};
constexpr Shape kReleased = {
    .heads = 64, .n = 512, .window = 128, .ring_slots = 134, .top = 512, .entries_per_page = 128};

// The row's output from keys found by position in the open sequence.
std::vector<Bf16> naive_row(const Batch& batch, std::size_t r) {
  const Shape& shape = batch.shape;
  const Sequence& sequence = batch.sequences[batch.which_sequence[r]];
  const AttentionRow& row = batch.rows[r];
  const std::int64_t slots = shape.window + shape.top;
  std::vector<float> keys(static_cast<std::size_t>(slots * shape.n));
  std::vector<std::uint8_t> present(static_cast<std::size_t>(slots));
  const auto put = [&](CacheFormat format, const std::uint8_t* entry, std::int64_t slot) {
    present[static_cast<std::size_t>(slot)] = 1;
    unpack_row_reference({.format = format,
                          .codes = entry,
                          .scales = entry + code_bytes(format, shape.n),
                          .n = shape.n,
                          .unpacked = keys.data() + slot * shape.n});
  };
  std::int64_t slot = 0;
  for (std::int64_t p = 0; p <= row.position; ++p) {
    if (p < row.first_visible || row.position - p >= shape.window) continue;
    put(CacheFormat::kFp8E8m0, sequence.window.data() + p * sequence.window_bytes, slot++);
  }
  for (std::int64_t i = 0; i < shape.top; ++i) {
    const std::int32_t entry =
        batch.selected[r * static_cast<std::size_t>(shape.top) + static_cast<std::size_t>(i)];
    if (entry < 0) break;
    put(CacheFormat::kFp4E4m3, sequence.global.data() + entry * sequence.global_bytes,
        shape.window + i);
  }
  std::vector<Bf16> out(static_cast<std::size_t>(shape.heads * shape.n));
  attend_reference({.keys = keys.data(),
                    .key_stride = shape.n,
                    .present = present.data(),
                    .slots = slots,
                    .q = View<const Bf16, 2>(batch.q.data() + r * out.size(), shape.heads, shape.n),
                    .out = View<Bf16, 2>(out.data(), shape.heads, shape.n),
                    .sink = batch.sink.data(),
                    .scale = 1.0F / std::sqrt(static_cast<float>(shape.n))});
  return out;
}

TEST(SparseAttentionReference, ReadsRingsFreshKeysAndPagesAsANaiveGatherDoes) {
  for (const Shape& shape : kShapes) {
    Batch batch(shape);

    ASSERT_OK(sparse_attention_reference(batch.args()));

    for (std::size_t r = 0; r < batch.rows.size(); ++r) {
      const std::vector<Bf16> expected = naive_row(batch, r);
      EXPECT_TRUE(test::same_bits(batch.out.data() + r * expected.size(), expected.data(),
                                  static_cast<std::int64_t>(expected.size())))
          << "row " << r;
    }
  }
}

TEST(SparseAttentionCpu, IsNearTheReference) {
  for (const Shape& shape : kShapes) {
    Batch batch(shape);
    std::vector<Bf16> expected(batch.out.size());
    Workers workers(1);

    ASSERT_OK(sparse_attention_cpu(batch.args(), workers));
    ASSERT_OK(sparse_attention_reference(
        batch.args(0, static_cast<std::int64_t>(batch.rows.size()), expected)));

    test::expect_close(batch.out, expected, {.ulps = 1.0F, .absolute = 2e-4F});
  }
}

TEST(SparseAttentionCpu, IsNearTheReferenceAtTheReleasedShape) {
  Batch batch(kReleased);
  std::vector<Bf16> expected(batch.out.size());
  Workers workers(2);

  ASSERT_OK(sparse_attention_cpu(batch.args(0, 1, batch.out), workers));
  ASSERT_OK(sparse_attention_reference(batch.args(0, 1, expected)));

  test::expect_close(batch.out, expected, {.ulps = 1.0F, .absolute = 2e-4F});
}

TEST(SparseAttentionCpu, GivesARowTheSameBitsAloneInABatchAndOnTwoThreads) {
  for (const Shape& shape : kShapes) {
    Batch batch(shape);
    Workers one(1);
    Workers two(2);
    std::vector<Bf16> threaded(batch.out.size());
    std::vector<Bf16> alone(batch.out.size());
    const auto count = static_cast<std::int64_t>(batch.rows.size());

    ASSERT_OK(sparse_attention_cpu(batch.args(), one));
    ASSERT_OK(sparse_attention_cpu(batch.args(0, count, threaded), two));
    for (std::int64_t r = 0; r < count; ++r) {
      ASSERT_OK(sparse_attention_cpu(batch.args(r, 1, alone), one));
    }

    EXPECT_TRUE(test::same_bits(batch.out, threaded));
    EXPECT_TRUE(test::same_bits(batch.out, alone));
  }
}

TEST(SparseAttentionCpu, AnswersZeroForARowWithoutKeys) {
  Batch batch(kShapes[2]);
  batch.rows[0].first_visible = batch.rows[0].position + 1;
  Workers workers(1);

  ASSERT_OK(sparse_attention_cpu(batch.args(0, 1, batch.out), workers));

  for (std::int64_t i = 0; i < batch.shape.heads * batch.shape.n; ++i) {
    ASSERT_EQ(to_float(batch.out[static_cast<std::size_t>(i)]), 0.0F);
  }
}

TEST(SparseAttentionLimits, RefuseBeforeAnythingIsRead) {
  Batch batch(kShapes[0]);
  Workers workers(1);
  std::vector<SparseAttentionArgs> bad(6, batch.args());
  std::vector<AttentionRow> no_ring = batch.rows;
  std::vector<AttentionRow> no_fresh = batch.rows;
  std::vector<AttentionRow> no_pages = batch.rows;
  no_ring[0].ring = nullptr;
  no_fresh[1].fresh = nullptr;
  no_pages[0].pages = nullptr;
  bad[0].rows = no_ring.data();
  bad[1].rows = no_fresh.data();
  bad[2].rows = no_pages.data();
  bad[3].window = batch.shape.ring_slots + 1;
  bad[4].selected = nullptr;
  bad[5].sink = View<const float, 1>(batch.sink.data(), 3);

  for (const SparseAttentionArgs& args : bad) {
    EXPECT_FAILS(sparse_attention_cpu(args, workers), ErrorCode::kInvalidArgument);
    EXPECT_FAILS(sparse_attention_reference(args), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::kernels
