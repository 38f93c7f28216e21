#include "engine/model/indexer.h"

#include <algorithm>
#include <cmath>

namespace deepinfer::engine {
namespace {

using kernels::Bf16;
using kernels::CacheFormat;

// q as the values of its stored FP4 codes, [rows, heads * n].
Result<Rows<float>> round_queries(const StepTools& tools, const Rows<Bf16>& q) {
  const std::int64_t n = tools.shape.index_head_dim;
  const std::int64_t vectors = q.size() / n;
  const std::int64_t bytes = tools.layout.index_codes + tools.layout.index_scales;
  const auto packed = take_rows<std::uint8_t>(tools, vectors, bytes);
  DEEPINFER_TRY([[maybe_unused]] const Done done,
                tools.ops.pack({.format = CacheFormat::kFp4E8m0,
                                .values = kernels::View<const Bf16, 2>(q.data, vectors, n),
                                .packed = packed.view()}));
  const Rows<float> rounded = take_rows<float>(tools, q.rows, q.cols);
  for (std::int64_t i = 0; i < vectors; ++i) {
    const std::uint8_t* codes = packed.data + i * bytes;
    tools.ops.unpack_row({.format = CacheFormat::kFp4E8m0,
                          .codes = codes,
                          .scales = codes + tools.layout.index_codes,
                          .n = n,
                          .unpacked = rounded.data + i * n});
  }
  return rounded;
}

// bf16(weights_proj . x) / sqrt(n * heads), in fp32.
Result<Rows<float>> head_weights(const StepTools& tools, const IndexerWeights& weights,
                                 const Rows<Bf16>& x) {
  DEEPINFER_TRY(const Rows<float> wide, widen(tools, x));
  DEEPINFER_TRY(const Rows<Bf16> projected, multiply(tools, wide, weights.weights_proj));
  DEEPINFER_TRY(const Rows<float> scaled, widen(tools, projected));
  const auto scale = static_cast<float>(
      1.0 / std::sqrt(static_cast<double>(tools.shape.index_head_dim * tools.shape.index_heads)));
  for (std::int64_t i = 0; i < scaled.size(); ++i) scaled.data[i] *= scale;
  return scaled;
}

kernels::IndexRow* index_rows(const StepTools& tools, const StepRows& rows, std::int64_t ratio) {
  auto* out = tools.scratch.take<kernels::IndexRow>(rows.rows);
  std::int64_t row = 0;
  for (const SequenceSlice& slice : rows.slices) {
    for (std::int64_t i = 0; i < slice.count(); ++i, ++row) {
      out[row] = {.visible = (slice.begin + i + 1) / ratio, .pages = slice.blocks.data()};
    }
  }
  return out;
}

// Whether some row has more latents than it may keep: only then do scores matter.
bool has_a_choice(const StepTools& tools, const StepRows& rows, const LayerRole& role) {
  const ModelShape& shape = tools.shape;
  std::int64_t limit = shape.index_top;
  if (role.is_candidate_source) {
    limit = std::min(limit, shape.candidate_blocks * shape.candidate_block_size);
  }
  return std::ranges::any_of(rows.slices, [&](const SequenceSlice& slice) {
    return (slice.begin + slice.count()) / role.compress_ratio > limit;
  });
}

}  // namespace

Status select_global_entries(const StepTools& tools, const StepRows& rows, std::int64_t layer,
                             const IndexerWeights& weights, const Rows<Bf16>& x,
                             const Rows<float>& query_input) {
  const kernels::Scratch::Mark mark(tools.scratch);
  const ModelShape& shape = tools.shape;
  const LayerRole& role = shape.role(layer);
  const SourceLayout& source = tools.layout.source(role.kv_source);

  Rows<float> q = take_rows<float>(tools, rows.rows, shape.index_heads * shape.index_head_dim);
  Rows<float> a = take_rows<float>(tools, rows.rows, shape.index_heads);
  if (has_a_choice(tools, rows, role)) {
    DEEPINFER_TRY(const Rows<Bf16> projected, multiply(tools, query_input, weights.wq_b));
    DEEPINFER_TRY([[maybe_unused]] const Done rotated,
                  rotate(tools, projected, shape.index_heads, rows.compress_rope,
                         kernels::RopeDirection::kForward));
    DEEPINFER_TRY(q, round_queries(tools, projected));
    DEEPINFER_TRY(a, head_weights(tools, weights, x));
  }

  tools.show(layer, "index_q", q.data, q.size());
  tools.show(layer, "index_a", a.data, a.size());

  kernels::SelectLatentsArgs args{
      .q =
          kernels::View<const float, 3>(q.data, rows.rows, shape.index_heads, shape.index_head_dim),
      .a = a.read(),
      .rows = index_rows(tools, rows, source.ratio),
      .selected = kernels::View<std::int32_t, 2>(rows.selected, rows.rows, shape.index_top),
      .entries_per_page = source.entries_per_page,
      .page_offset = source.index_offset,
      .candidate_blocks = shape.candidate_blocks,
      .block_size = shape.candidate_block_size};
  if (role.is_candidate_source) args.candidates_out = rows.candidates;
  if (role.uses_candidates) args.candidates_in = rows.candidates;
  DEEPINFER_TRY([[maybe_unused]] const Done selected,
                tools.ops.select_latents(args, tools.workers));
  tools.show(layer, "topk_positions", rows.selected, rows.rows * shape.index_top);
  return Done{};
}

}  // namespace deepinfer::engine
