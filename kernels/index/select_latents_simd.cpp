// The fast CPU path of the indexer.
//
// Rows of one sequence stand side by side, so a worker takes up to eight of them at a time and
// unpacks each block of keys once for all. A row that may only see candidate blocks is scored alone,
// on the latents of its blocks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/index/select.h"
#include "kernels/index/select_latents.h"
#include "kernels/quant/cache_formats.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/index/select_latents_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/attention/head_dots-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {
namespace {

void turn_heads(const View<const float, 3>& q, std::int64_t row, std::int64_t padded,
                float* turned) {
  const std::int64_t n = q.extent(2);
  std::fill(turned, turned + n * padded, 0.0F);
  for (std::int64_t head = 0; head < q.extent(1); ++head) {
    const float* from = &q(row, head, 0);
    for (std::int64_t k = 0; k < n; ++k) turned[turned_row(k, n) * padded + head] = from[k];
  }
}

void score_keys(const ScoreKeys& args) {
  const F32Tag d;
  head_dots({.turned = args.turned,
             .padded = args.padded,
             .n = args.n,
             .keys = args.keys,
             .count = args.count,
             .out = args.products});
  for (std::int64_t i = 0; i < args.count; ++i) {
    float* products = args.products + i * args.padded;
    for (std::int64_t h = 0; h < args.padded; h += static_cast<std::int64_t>(kLanes)) {
      const F32 relu = hn::Max(hn::LoadU(d, products + h), hn::Zero(d));
      hn::StoreU(hn::Mul(hn::LoadU(d, args.a + h), relu), d, products + h);
    }
  }
  // Heads outside, so that the sums of many keys are under way at once.
  std::fill(args.scores, args.scores + args.count, 0.0F);
  for (std::int64_t h = 0; h < args.heads; ++h) {
    const float* products = args.products + h;
    for (std::int64_t i = 0; i < args.count; ++i) args.scores[i] += products[i * args.padded];
  }
}

}  // namespace
}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(turn_heads);
HWY_EXPORT(score_keys);

constexpr std::int64_t kKeyBlock = 64;     // keys unpacked at a time: 32 KB at the released size
constexpr std::int64_t kRowTile = 8;       // rows that share unpacked keys; bounds the score memory
constexpr std::int64_t kHeadPadding = 16;  // as head_dots-inl.h has it

// One worker's pass over its rows.
class Scorer {
 public:
  explicit Scorer(const SelectLatentsArgs& args)
      : args_(args),
        heads_(args.q.extent(1)),
        n_(args.q.extent(2)),
        padded_((heads_ + kHeadPadding - 1) / kHeadPadding * kHeadPadding),
        turned_(static_cast<std::size_t>(kRowTile * n_ * padded_)),
        a_(static_cast<std::size_t>(kRowTile * padded_)),
        keys_(static_cast<std::size_t>(kKeyBlock * n_)),
        products_(static_cast<std::size_t>(kKeyBlock * padded_)) {
    for (std::int64_t i = 0; i < kKeyBlock; ++i) key_[i] = keys_.data() + i * n_;
  }

  void run(std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end;) {
      write_unscored(args_, row);
      const RowPlan plan = plan_row(args_, row);
      if (plan.scores_allowed) score_allowed(row);
      if (!plan.scores_all) {
        ++row;
        continue;
      }
      const std::int64_t count = tile_rows(row, end);
      score_tile(row, count);
      row += count;
    }
  }

 private:
  // Rows from `row` on that belong to one sequence and are scored against all of it.
  std::int64_t tile_rows(std::int64_t row, std::int64_t end) const {
    std::int64_t count = 1;
    while (count < kRowTile && row + count < end &&
           args_.rows[row + count].pages == args_.rows[row].pages &&
           plan_row(args_, row + count).scores_all) {
      ++count;
    }
    return count;
  }

  void load_query(std::int64_t row, std::int64_t slot) {
    HWY_DYNAMIC_DISPATCH(turn_heads)(args_.q, row, padded_, turned_.data() + slot * n_ * padded_);
    for (std::int64_t h = 0; h < heads_; ++h) {
      a_[static_cast<std::size_t>(slot * padded_ + h)] = args_.a(row, h);
    }
  }

  void unpack(std::int64_t row, std::int64_t j, std::int64_t slot) {
    const IndexKey packed = index_key(args_, row, j);
    unpack_row_cpu({.format = CacheFormat::kFp4E8m0,
                    .codes = packed.codes,
                    .scales = packed.scales,
                    .n = n_,
                    .unpacked = keys_.data() + slot * n_});
  }

  void score(std::int64_t slot, std::int64_t count, float* scores) {
    HWY_DYNAMIC_DISPATCH(score_keys)
    ({.turned = turned_.data() + slot * n_ * padded_,
      .a = a_.data() + slot * padded_,
      .padded = padded_,
      .heads = heads_,
      .n = n_,
      .keys = key_,
      .count = count,
      .products = products_.data(),
      .scores = scores});
  }

  void score_tile(std::int64_t first, std::int64_t count) {
    std::int64_t visible = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0) write_unscored(args_, first + i);
      load_query(first + i, i);
      visible = std::max(visible, args_.rows[first + i].visible);
    }
    scores_.resize(static_cast<std::size_t>(count * visible));
    for (std::int64_t begin = 0; begin < visible; begin += kKeyBlock) {
      const std::int64_t end = std::min(begin + kKeyBlock, visible);
      for (std::int64_t j = begin; j < end; ++j) unpack(first, j, j - begin);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t seen = std::min(end, args_.rows[first + i].visible) - begin;
        if (seen > 0) score(i, seen, scores_.data() + i * visible + begin);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      write_scored(args_, first + i, scores_.data() + i * visible);
    }
  }

  // Scores the latents of the row's candidate blocks and selects among them.
  void score_allowed(std::int64_t row) {
    const std::int64_t top = args_.selected.extent(1);
    const std::int32_t* blocks = args_.candidates_in + row * args_.candidate_blocks;
    load_query(row, 0);
    BestPositions best(top);
    std::int64_t count = 0;
    const auto flush = [&] {
      float scores[kKeyBlock];
      score(0, count, scores);
      for (std::int64_t i = 0; i < count; ++i) best.add(scores[i], positions_[i]);
      count = 0;
    };
    for (std::int64_t i = 0; i < args_.candidate_blocks && blocks[i] >= 0; ++i) {
      const std::int64_t begin = blocks[i] * args_.block_size;
      const std::int64_t end = std::min(begin + args_.block_size, args_.rows[row].visible);
      for (std::int64_t j = begin; j < end; ++j) {
        unpack(row, j, count);
        positions_[count++] = static_cast<std::int32_t>(j);
        if (count == kKeyBlock) flush();
      }
    }
    if (count > 0) flush();
    best.write(args_.selected.data() + row * top);
  }

  const SelectLatentsArgs& args_;
  std::int64_t heads_;
  std::int64_t n_;
  std::int64_t padded_;
  std::vector<float> turned_;    // [kRowTile, n, padded]
  std::vector<float> a_;         // [kRowTile, padded]
  std::vector<float> keys_;      // [kKeyBlock, n]
  std::vector<float> products_;  // [kKeyBlock, padded]
  std::vector<float> scores_;    // [rows of the tile, visible]
  const float* key_[kKeyBlock] = {};
  std::int32_t positions_[kKeyBlock] = {};
};

}  // namespace

Status select_latents_cpu(const SelectLatentsArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, select_latents_limits(args));

  workers.for_ranges(args.q.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    Scorer(args).run(begin, end);
  });
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
