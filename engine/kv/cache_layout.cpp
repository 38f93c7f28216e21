#include "engine/kv/cache_layout.h"

#include <cstdlib>
#include <numeric>

#include "kernels/quant/cache_formats.h"

namespace deepinfer::engine {
namespace {

using kernels::CacheFormat;

constexpr std::int64_t kBlockAlignment = 128;  // bytes: one line of a GPU's cache
constexpr std::int64_t kSlotAlignment = 32;    // bytes: one sector

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

void place_sources(const ModelShape& shape, CacheLayout& layout) {
  std::int64_t offset = 0;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const LayerRole& role = shape.role(layer);
    if (!role.owns_kv) continue;
    SourceLayout source;
    source.layer = layer;
    source.ratio = role.compress_ratio;
    source.entries_per_page = kBlockTokens / role.compress_ratio;
    source.index_offset = offset;
    offset += source.entries_per_page * (layout.index_codes + layout.index_scales);
    source.main_offset = offset;
    offset += source.entries_per_page * layout.global_entry;
    layout.sources.push_back(source);
  }
  layout.block_bytes = offset;
  layout.block_stride = round_up(offset, std::lcm(kBlockAlignment, layout.global_entry));
}

void place_rings(const ModelShape& shape, CacheLayout& layout) {
  const std::int64_t open_row_bytes = 2 * shape.head_dim * static_cast<std::int64_t>(sizeof(float));
  layout.rings = shape.layers + shape.draft.layers;
  std::int64_t offset = round_up(layout.ring_offset(layout.rings), kSlotAlignment / 2);
  for (SourceLayout& source : layout.sources) {
    if (source.ratio == 1) continue;
    source.open_offset = offset;
    offset += layout.open_rows * open_row_bytes;
  }
  layout.slot_bytes = offset;
  layout.slot_stride = round_up(offset, std::lcm(kSlotAlignment, layout.window_entry));
}

}  // namespace

const SourceLayout& CacheLayout::source(std::int64_t layer) const {
  for (const SourceLayout& candidate : sources) {
    if (candidate.layer == layer) return candidate;
  }
  std::abort();  // a layer that reads no source never asks
}

double CacheLayout::bytes_per_token() const {
  return static_cast<double>(block_bytes) / static_cast<double>(kBlockTokens);
}

CacheLayout cache_layout(const ModelShape& shape, std::int64_t backtracking) {
  CacheLayout layout;
  layout.window_entry = kernels::row_bytes(CacheFormat::kFp8E8m0, shape.head_dim);
  layout.global_entry = kernels::row_bytes(CacheFormat::kFp4E4m3, shape.head_dim);
  layout.index_codes = kernels::code_bytes(CacheFormat::kFp4E8m0, shape.index_head_dim);
  layout.index_scales =
      kernels::row_bytes(CacheFormat::kFp4E8m0, shape.index_head_dim) - layout.index_codes;
  layout.ring_slots = shape.window + backtracking;
  layout.open_rows = 2 + backtracking - 1;
  place_sources(shape, layout);
  place_rings(shape, layout);
  return layout;
}

}  // namespace deepinfer::engine
