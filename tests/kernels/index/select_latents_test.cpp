// select_latents: the selections against sorting everything, ties, blocks without a score, pages of
// several sequences, candidates in and out; fast path against the reference; limits.
#include "kernels/index/select_latents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "kernels/quant/cache_formats.h"
#include "tests/kernels/kernel_data.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Ids = std::vector<std::int32_t>;

// The best `count` of `positions` by (score falling, position rising), ascending, -1 padded.
Ids sorted_best(const std::vector<float>& scores, Ids positions, std::size_t count) {
  std::stable_sort(positions.begin(), positions.end(), [&](std::int32_t a, std::int32_t b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });
  positions.resize(std::min(count, positions.size()));
  std::sort(positions.begin(), positions.end());
  positions.resize(count, -1);
  return positions;
}

Ids all_positions(std::size_t count) {
  Ids positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

Ids top_of(const std::vector<float>& scores, std::int64_t top, const Ids* allowed = nullptr,
           std::int64_t block_size = 8) {
  Ids selected(static_cast<std::size_t>(top));
  select_top({.scores = scores.data(),
              .visible = static_cast<std::int64_t>(scores.size()),
              .allowed_blocks = allowed == nullptr ? nullptr : allowed->data(),
              .allowed_count = allowed == nullptr ? 0 : static_cast<std::int64_t>(allowed->size()),
              .block_size = block_size,
              .selected = selected.data(),
              .top = top});
  return selected;
}

Ids blocks_of(const std::vector<float>& scores, std::int64_t block_size, std::int64_t count) {
  Ids blocks(static_cast<std::size_t>(count));
  select_blocks({.scores = scores.data(),
                 .visible = static_cast<std::int64_t>(scores.size()),
                 .block_size = block_size,
                 .blocks = blocks.data(),
                 .count = count});
  return blocks;
}

// Few different values, so that ties are everywhere.
std::vector<float> tied_scores(std::int64_t count, std::uint64_t seed) {
  std::vector<float> scores = test::random_floats(count, 4.0F, seed);
  for (float& score : scores) score = static_cast<float>(static_cast<int>(score));
  return scores;
}

TEST(SelectTop, KeepsWhatSortingEverythingKeeps) {
  for (const std::int64_t visible : {1, 7, 8, 9, 16, 17, 100, 1000}) {
    const std::vector<float> tied = tied_scores(visible, 3);
    const std::vector<float> distinct = test::random_floats(visible, 1.0F, 4);
    for (const auto* scores : {&tied, &distinct}) {
      EXPECT_EQ(top_of(*scores, 8), sorted_best(*scores, all_positions(scores->size()), 8));
    }
  }
}

TEST(SelectTop, StaysInsideTheAllowedBlocks) {
  const std::vector<float> scores = tied_scores(50, 9);
  const Ids allowed = {1, 4, 12, -1};  // of 4 latents; the last is cut after two

  const Ids expected = sorted_best(scores, {4, 5, 6, 7, 16, 17, 18, 19, 48, 49}, 6);

  EXPECT_EQ(top_of(scores, 6, &allowed, 4), expected);
  EXPECT_EQ(top_of(scores, 12, &allowed, 4), (Ids{4, 5, 6, 7, 16, 17, 18, 19, 48, 49, -1, -1}));
}

TEST(SelectTop, TakesNanForTheLowestScore) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(top_of({nan, -3.0F, nan, 1.0F, -5.0F}, 3), (Ids{1, 3, 4}));
}

TEST(SelectBlocks, GivesTiesToTheLowerBlockAndAlwaysKeepsTheLast) {
  EXPECT_EQ(blocks_of({2, 0, 2, 0, 2, 0, -9}, 2, 3), (Ids{0, 1, 3}));
}

TEST(SelectBlocks, NeverKeepsABlockWithoutAScoreUnlessItIsTheLast) {
  EXPECT_EQ(blocks_of({-kInfinity, -kInfinity, 1, -kInfinity, -kInfinity, -kInfinity}, 2, 3),
            (Ids{1, 2, -1}));
}

TEST(SelectBlocks, KeepsWhatSortingTheBlockMaximaKeeps) {
  for (const std::int64_t visible : {1, 4, 5, 31, 32, 33, 400}) {
    const std::vector<float> scores = tied_scores(visible, 12);
    std::vector<float> maxima;
    for (std::int64_t begin = 0; begin < visible; begin += 4) {
      const auto end = std::min(begin + 4, visible);
      maxima.push_back(*std::max_element(scores.begin() + begin, scores.begin() + end));
    }
    maxima.back() = kInfinity;

    EXPECT_EQ(blocks_of(scores, 4, 5), sorted_best(maxima, all_positions(maxima.size()), 5));
  }
}

struct Shape {
  std::int64_t heads;
  std::int64_t n;
  std::int64_t top;
  std::int64_t entries_per_page;
};

constexpr std::int64_t kPageOffset = 24;
constexpr std::int64_t kBlockSize = 4;
constexpr std::int64_t kBlocks = 6;

// Rows of two sequences, with few and many visible latents.
struct Batch {
  Batch(const Shape& s, const std::vector<std::vector<std::int64_t>>& visible) : shape(s) {
    for (const std::vector<std::int64_t>& sequence : visible) {
      add_sequence(*std::max_element(sequence.begin(), sequence.end()));
    }
    for (std::size_t which = 0; which < visible.size(); ++which) {
      for (const std::int64_t seen : visible[which]) {
        rows.push_back({.visible = seen, .pages = page_lists[which].data()});
      }
    }
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::vector<Bf16> queries = test::random_bf16(count * s.heads * s.n, 1.0F, 77);
    q = unpacked(packed(queries, count * s.heads), count * s.heads);
    a = test::random_floats(count * s.heads, 1.0F, 78);
    selected.resize(static_cast<std::size_t>(count * s.top));
    candidates.resize(static_cast<std::size_t>(count * kBlocks));
  }

  std::vector<std::uint8_t> packed(const std::vector<Bf16>& values, std::int64_t count) const {
    const std::int64_t bytes = row_bytes(CacheFormat::kFp4E8m0, shape.n);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(count * bytes));
    const Status status =
        pack_reference({.format = CacheFormat::kFp4E8m0,
                        .values = View<const Bf16, 2>(values.data(), count, shape.n),
                        .packed = View<std::uint8_t, 2>(out.data(), count, bytes)});
    EXPECT_TRUE(status.has_value());
    return out;
  }

  std::vector<float> unpacked(const std::vector<std::uint8_t>& bytes, std::int64_t count) const {
    std::vector<float> values(static_cast<std::size_t>(count * shape.n));
    for (std::int64_t row = 0; row < count; ++row) {
      const std::uint8_t* codes = bytes.data() + row * row_bytes(CacheFormat::kFp4E8m0, shape.n);
      unpack_row_reference({.format = CacheFormat::kFp4E8m0,
                            .codes = codes,
                            .scales = codes + code_bytes(CacheFormat::kFp4E8m0, shape.n),
                            .n = shape.n,
                            .unpacked = values.data() + row * shape.n});
    }
    return values;
  }

  // Pages with all codes first, then all scales.
  void add_sequence(std::int64_t length) {
    const std::int64_t code = code_bytes(CacheFormat::kFp4E8m0, shape.n);
    const std::int64_t scale = row_bytes(CacheFormat::kFp4E8m0, shape.n) - code;
    const std::vector<Bf16> values =
        test::random_bf16(length * shape.n, 1.0F, 100 + static_cast<std::uint64_t>(length));
    const std::vector<std::uint8_t> keys = packed(values, length);
    key_values.push_back(unpacked(keys, length));
    std::vector<const std::uint8_t*> list;
    for (std::int64_t j = 0; j < length; ++j) {
      const std::int64_t entry = j % shape.entries_per_page;
      if (entry == 0) {
        pages.emplace_back(
            static_cast<std::size_t>(kPageOffset + shape.entries_per_page * (code + scale)));
        list.push_back(pages.back().data());
      }
      std::uint8_t* page = pages.back().data() + kPageOffset;
      const std::uint8_t* key = keys.data() + j * (code + scale);
      std::copy_n(key, code, page + entry * code);
      std::copy_n(key + code, scale, page + shape.entries_per_page * code + entry * scale);
    }
    page_lists.push_back(std::move(list));
  }

  SelectLatentsArgs args(std::int64_t first, std::int64_t count, Ids& to) const {
    return {.q = View<const float, 3>(q.data() + first * shape.heads * shape.n, count, shape.heads,
                                      shape.n),
            .a = View<const float, 2>(a.data() + first * shape.heads, count, shape.heads),
            .rows = rows.data() + first,
            .selected = View<std::int32_t, 2>(to.data() + first * shape.top, count, shape.top),
            .entries_per_page = shape.entries_per_page,
            .page_offset = kPageOffset,
            .candidate_blocks = kBlocks,
            .block_size = kBlockSize};
  }
  SelectLatentsArgs args() { return args(0, static_cast<std::int64_t>(rows.size()), selected); }

  Shape shape;
  std::vector<std::vector<std::uint8_t>> pages;
  std::vector<std::vector<const std::uint8_t*>> page_lists;
  std::vector<std::vector<float>> key_values;  // of each sequence
  std::vector<IndexRow> rows;
  std::vector<float> q;
  std::vector<float> a;
  Ids selected;
  Ids candidates;
};

// Why each: the tiny model; the released indexer with fewer latents chosen; heads that fill no
// vector.
const Shape kShapes[] = {{.heads = 4, .n = 64, .top = 8, .entries_per_page = 8},
                         {.heads = 32, .n = 128, .top = 16, .entries_per_page = 64},
                         {.heads = 19, .n = 32, .top = 8, .entries_per_page = 5}};
// Nothing; under top; above top but inside the candidates; more than a block of keys; a long tile.
const std::vector<std::vector<std::int64_t>> kVisible = {
    {0, 1, 7, 8, 20, 24, 25, 70, 71, 72, 73, 74, 75, 76, 77, 150}, {3, 90, 130}};

// The scores of a row by their definition.
std::vector<float> naive_scores(const Batch& batch, std::size_t row, std::size_t sequence) {
  const auto heads = static_cast<std::size_t>(batch.shape.heads);
  const auto n = static_cast<std::size_t>(batch.shape.n);
  std::vector<float> scores;
  for (std::size_t j = 0; j < static_cast<std::size_t>(batch.rows[row].visible); ++j) {
    double score = 0.0;
    for (std::size_t h = 0; h < heads; ++h) {
      double dot = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        dot += static_cast<double>(batch.q[(row * heads + h) * n + i]) *
               static_cast<double>(batch.key_values[sequence][j * n + i]);
      }
      score += static_cast<double>(batch.a[row * heads + h]) * std::max(dot, 0.0);
    }
    scores.push_back(static_cast<float>(score));
  }
  return scores;
}

Ids row_of(const Ids& ids, std::size_t row, std::int64_t width) {
  const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(row) * width;
  return {begin, begin + width};
}

TEST(SelectLatents, KeepsTheBestLatentsAndBlocksOfEverySequence) {
  for (const Shape& shape : kShapes) {
    Batch batch(shape, kVisible);
    Workers workers(2);
    SelectLatentsArgs args = batch.args();
    args.candidates_out = batch.candidates.data();
    for (const bool is_fast : {false, true}) {
      ASSERT_OK(is_fast ? select_latents_cpu(args, workers) : select_latents_reference(args));
      for (std::size_t row = 0; row < batch.rows.size(); ++row) {
        SCOPED_TRACE(row);
        const std::vector<float> scores =
            naive_scores(batch, row, row < kVisible[0].size() ? 0 : 1);
        const Ids expected =
            sorted_best(scores, all_positions(scores.size()), static_cast<std::size_t>(shape.top));
        EXPECT_EQ(row_of(batch.selected, row, shape.top), expected);
        EXPECT_EQ(row_of(batch.candidates, row, kBlocks), blocks_of(scores, kBlockSize, kBlocks));
      }
    }
  }
}

TEST(SelectLatents, StaysInsideTheCandidatesOfAnEarlierLayer) {
  Batch batch(kShapes[0], kVisible);
  Workers workers(1);
  SelectLatentsArgs source = batch.args();
  source.candidates_out = batch.candidates.data();
  ASSERT_OK(select_latents_cpu(source, workers));
  batch.q = test::random_floats(static_cast<std::int64_t>(batch.q.size()), 1.0F, 5);
  SelectLatentsArgs args = batch.args();
  args.candidates_in = batch.candidates.data();
  Ids reference(batch.selected.size());
  SelectLatentsArgs slow = batch.args(0, static_cast<std::int64_t>(batch.rows.size()), reference);
  slow.candidates_in = batch.candidates.data();

  ASSERT_OK(select_latents_cpu(args, workers));
  ASSERT_OK(select_latents_reference(slow));

  EXPECT_EQ(batch.selected, reference);
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    SCOPED_TRACE(row);
    const Ids blocks = row_of(batch.candidates, row, kBlocks);
    const std::set<std::int32_t> allowed(blocks.begin(), blocks.end());
    std::int64_t chosen = 0;
    for (const std::int32_t j : row_of(batch.selected, row, batch.shape.top)) {
      if (j < 0) continue;
      ++chosen;
      EXPECT_EQ(allowed.count(j / static_cast<std::int32_t>(kBlockSize)), 1U) << j;
    }
    EXPECT_EQ(chosen, std::min(batch.rows[row].visible, batch.shape.top));
  }
}

TEST(SelectLatentsCpu, GivesARowTheSameChoiceAloneInABatchAndOnTwoThreads) {
  // Equal scores all over: the order alone decides.
  Batch batch(kShapes[1], kVisible);
  std::fill(batch.a.begin(), batch.a.end(), 0.0F);
  Workers one(1);
  Workers two(2);
  const auto count = static_cast<std::int64_t>(batch.rows.size());
  Ids threaded(batch.selected.size());
  Ids alone(batch.selected.size());

  ASSERT_OK(select_latents_cpu(batch.args(), one));
  ASSERT_OK(select_latents_cpu(batch.args(0, count, threaded), two));
  for (std::int64_t row = 0; row < count; ++row) {
    ASSERT_OK(select_latents_cpu(batch.args(row, 1, alone), one));
  }

  EXPECT_EQ(batch.selected, threaded);
  EXPECT_EQ(batch.selected, alone);
  Ids first = all_positions(16);
  EXPECT_EQ(row_of(batch.selected, batch.rows.size() - 1, 16), first);
}

TEST(SelectLatentsLimits, RefuseBeforeAnythingIsRead) {
  Batch batch(kShapes[0], {{9}});
  Workers workers(1);
  std::vector<IndexRow> no_pages = batch.rows;
  no_pages[0].pages = nullptr;
  std::vector<IndexRow> negative = batch.rows;
  negative[0].visible = -1;
  std::vector<SelectLatentsArgs> bad(5, batch.args());
  bad[0].rows = no_pages.data();
  bad[1].rows = negative.data();
  bad[2].q = View<const float, 3>(batch.q.data(), 1, 4, 48);
  bad[3].block_size = 0;
  bad[4].candidates_out = batch.candidates.data();
  bad[4].candidate_blocks = 0;

  for (const SelectLatentsArgs& args : bad) {
    EXPECT_FAILS(select_latents_cpu(args, workers), ErrorCode::kInvalidArgument);
    EXPECT_FAILS(select_latents_reference(args), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::kernels
