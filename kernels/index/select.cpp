// The two selections: the best latents of a row of scores, and the best blocks of latents.
//
// One pass keeps the entries that can still be among the best in a buffer of twice their number; when
// it is full it is cut to the best half, whose worst entry is the bar for what follows. So a row costs
// one comparison per score and a little sorting, and nothing of the row's length.
#include "kernels/index/select.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace deepinfer::kernels {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// Greater scores first, ties to the lower position.
bool is_better(const ScoredPosition& a, const ScoredPosition& b) {
  return a.score > b.score || (a.score == b.score && a.position < b.position);
}

// NaN has no place in an order; it counts as the lowest score.
float ordered(float score) {
  if (std::isnan(score)) return kLowest;
  return score;
}

}  // namespace

BestPositions::BestPositions(std::int64_t count) : count_(static_cast<std::size_t>(count)) {
  entries_.reserve(2 * count_);
}

void BestPositions::add(float score, std::int32_t position) {
  if (count_ == 0) return;
  const ScoredPosition entry{.score = ordered(score), .position = position};
  if (has_bar_ && !is_better(entry, bar_)) return;
  entries_.push_back(entry);
  if (entries_.size() == 2 * count_) keep_best();
}

void BestPositions::keep_best() {
  if (entries_.size() <= count_) return;
  const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(count_) - 1;
  std::nth_element(entries_.begin(), last, entries_.end(), is_better);
  entries_.resize(count_);
  bar_ = entries_.back();
  has_bar_ = true;
}

void BestPositions::write(std::int32_t* positions) {
  keep_best();
  std::fill(positions, positions + count_, -1);
  std::transform(entries_.begin(), entries_.end(), positions,
                 [](const ScoredPosition& entry) { return entry.position; });
  std::sort(positions, positions + entries_.size());
  entries_.clear();
  has_bar_ = false;
}

void select_top(const SelectTopArgs& args) {
  BestPositions best(args.top);
  const auto add_range = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < std::min(end, args.visible); ++j) {
      best.add(args.scores[j], static_cast<std::int32_t>(j));
    }
  };
  if (args.allowed_blocks == nullptr) {
    add_range(0, args.visible);
  } else {
    for (std::int64_t i = 0; i < args.allowed_count && args.allowed_blocks[i] >= 0; ++i) {
      const std::int64_t begin = args.allowed_blocks[i] * args.block_size;
      add_range(begin, begin + args.block_size);
    }
  }
  best.write(args.selected);
}

void select_blocks(const SelectBlocksArgs& args) {
  BestPositions best(args.count);
  const std::int64_t blocks = (args.visible + args.block_size - 1) / args.block_size;
  for (std::int64_t block = 0; block < blocks; ++block) {
    float largest = kLowest;
    const std::int64_t end = std::min((block + 1) * args.block_size, args.visible);
    for (std::int64_t j = block * args.block_size; j < end; ++j) {
      largest = std::max(largest, ordered(args.scores[j]));
    }
    if (block == blocks - 1) largest = std::numeric_limits<float>::infinity();  // always kept
    if (largest > kLowest) best.add(largest, static_cast<std::int32_t>(block));
  }
  best.write(args.blocks);
}

}  // namespace deepinfer::kernels
