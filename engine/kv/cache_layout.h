// Where every byte of a sequence's state lies: its blocks (paged, growing) and its slot (fixed).
//
//   block  128 token positions; for each KV source in order: index part, then main part.
//          index part: all codes of the page, then all E8M0 scales. main part: entries one after the
//          other, codes then scales. 128 / ratio entries in a page.
//   slot   window rings of the backbone layers, then of the draft layers (slot of position p:
//          p mod ring_slots), then the open-group rings of the ratio-2 sources: rows of fp32
//          [score head_dim, kv head_dim] (row of position p: p mod open_rows).
//
// For the released model: block 113,920 B (stride 114,048), slot 3,128,352 B (stride 3,128,928),
// 890 B of blocks for each token.
//
// Units:    bytes and rows; offsets from the start of a block or a slot
// Threads:  a plain value
// Source:   spec/model.md 5.12, 6.1
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/shape.h"

namespace deepinfer::engine {

inline constexpr std::int64_t kBlockTokens = 128;

// How many positions a step may take back: drafts + 1, as the reference engine's default.
inline constexpr std::int64_t kDefaultBacktracking = 6;

// The part of a block that one KV source writes.
struct SourceLayout {
  std::int64_t layer = 0;
  std::int64_t ratio = 1;  // tokens per entry
  std::int64_t entries_per_page = 0;
  std::int64_t index_offset = 0;  // of the index part in a block
  std::int64_t main_offset = 0;   // of the main part in a block
  std::int64_t open_offset = -1;  // of the open-group ring in a slot; -1: ratio 1
};

struct CacheLayout {
  std::int64_t window_entry = 0;  // bytes: FP8 codes and scales
  std::int64_t global_entry = 0;  // bytes: FP4 codes and scales
  std::int64_t index_codes = 0;   // bytes of one index key's codes
  std::int64_t index_scales = 0;  // bytes of one index key's scales
  std::int64_t ring_slots = 0;    // window + backtracking
  std::int64_t rings = 0;         // backbone and draft layers
  std::int64_t open_rows = 0;     // 2 + backtracking - 1
  std::int64_t block_bytes = 0;
  std::int64_t block_stride = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t slot_stride = 0;
  std::vector<SourceLayout> sources;  // ascending layers

  [[nodiscard]] std::int64_t ring_offset(std::int64_t layer) const {
    return layer * ring_slots * window_entry;
  }
  // The source that `layer` reads; the layer has one.
  [[nodiscard]] const SourceLayout& source(std::int64_t layer) const;
  // Bytes of blocks for each token, without the rounding of the stride.
  [[nodiscard]] double bytes_per_token() const;
};

[[nodiscard]] CacheLayout cache_layout(const ModelShape& shape,
                                       std::int64_t backtracking = kDefaultBacktracking);

}  // namespace deepinfer::engine
