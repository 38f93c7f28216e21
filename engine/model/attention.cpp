#include "engine/model/attention.h"

#include <cmath>
#include <cstring>

#include "engine/model/compressor.h"
#include "engine/model/indexer.h"

namespace deepinfer::engine {
namespace {

using kernels::Bf16;
using kernels::RopeDirection;

const RopeRows& rope_of(const StepRows& rows, const LayerRole& role) {
  return role.compress_ratio > 0 ? rows.compress_rope : rows.window_rope;
}

// One layer's attention, without the projections around it.
struct AttendArgs {
  std::int64_t layer;
  const LayerWeights& weights;
  const Rows<std::uint8_t>& fresh;  // this step's window entries
  const Rows<Bf16>& q;
  const Rows<Bf16>& out;
};

kernels::AttentionRow* attention_rows(const StepTools& tools, const StepRows& rows,
                                      std::int64_t layer, const Rows<std::uint8_t>& fresh) {
  auto* out = tools.scratch.take<kernels::AttentionRow>(rows.rows);
  std::int64_t row = 0;
  for (const SequenceSlice& slice : rows.slices) {
    const std::uint8_t* first = fresh.data + row * fresh.cols;
    for (std::int64_t i = 0; i < slice.count(); ++i, ++row) {
      out[row] = {.position = slice.begin + i,
                  .first_visible = 0,
                  .ring = slice.slot + tools.layout.ring_offset(layer),
                  .fresh = first,
                  .fresh_begin = slice.begin,
                  .pages = slice.blocks.data()};
    }
  }
  return out;
}

Status attend(const StepTools& tools, const StepRows& rows, const AttendArgs& call) {
  const ModelShape& shape = tools.shape;
  const LayerRole& role = shape.role(call.layer);
  kernels::SparseAttentionArgs args{
      .q = kernels::View<const Bf16, 3>(call.q.data, call.q.rows, shape.heads, shape.head_dim),
      .out = call.out.heads(shape.heads),
      .sink = call.weights.attn_sink.view(),
      .rows = attention_rows(tools, rows, call.layer, call.fresh),
      .window = shape.window,
      .ring_slots = tools.layout.ring_slots,
      .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)))};
  if (role.compress_ratio > 0) {
    const SourceLayout& source = tools.layout.source(role.kv_source);
    args.selected = rows.selected;
    args.top = shape.index_top;
    args.entries_per_page = source.entries_per_page;
    args.page_offset = source.main_offset;
  }
  return tools.ops.sparse_attention(args, tools.workers);
}

// z[r, g * rank ..] = bf16(wo_a rows of group g . heads of group g), then y = wo_b . quantize(z).
Status project_output(const StepTools& tools, const LayerWeights& weights, const Rows<Bf16>& o,
                      const Rows<Bf16>& y) {
  const ModelShape& shape = tools.shape;
  const std::int64_t width = o.cols / shape.o_groups;
  const Rows<Bf16> z = take_rows<Bf16>(tools, o.rows, shape.o_groups * shape.o_rank);
  const Rows<float> group = take_rows<float>(tools, o.rows, width);
  for (std::int64_t g = 0; g < shape.o_groups; ++g) {
    for (std::int64_t row = 0; row < o.rows; ++row) {
      const Bf16* from = o.data + row * o.cols + g * width;
      float* to = group.data + row * width;
      for (std::int64_t i = 0; i < width; ++i) to[i] = kernels::to_float(from[i]);
    }
    DEEPINFER_TRY([[maybe_unused]] const Done done,
                  tools.ops.linear({.x = group.read(),
                                    .weight = kernels::slice_outputs(weights.wo_a, g * shape.o_rank,
                                                                     shape.o_rank),
                                    .y_bf16 = z.data + g * shape.o_rank,
                                    .y_stride = z.cols},
                                   tools.workers));
  }
  DEEPINFER_TRY(const Rows<float> rounded, quantize(tools, z));
  return tools.ops.linear({.x = rounded.read(), .weight = weights.wo_b, .y_bf16 = y.data},
                          tools.workers);
}

// The layer's queries [rows, heads * head_dim], rotated, and the indexer's input.
struct Queries {
  Rows<Bf16> q;
  Rows<float> low_rank;  // quantised, [rows, q_rank]
};

Result<Queries> make_queries(const StepTools& tools, const LayerWeights& weights,
                             const Rows<float>& x, const RopeRows& rope) {
  DEEPINFER_TRY(const Rows<Bf16> low, multiply(tools, x, weights.wq_a));
  DEEPINFER_TRY([[maybe_unused]] const Done normed, normalize(tools, low, weights.q_norm.view()));
  DEEPINFER_TRY(const Rows<float> low_rank, quantize(tools, low));
  DEEPINFER_TRY(const Rows<Bf16> q, multiply(tools, low_rank, weights.wq_b));
  DEEPINFER_TRY([[maybe_unused]] const Done rotated,
                rotate(tools, q, tools.shape.heads, rope, RopeDirection::kForward));
  return Queries{q, low_rank};
}

}  // namespace

Result<Rows<std::uint8_t>> pack_window_entries(const StepTools& tools, const Rows<Bf16>& kv,
                                               kernels::View<const Bf16, 1> norm,
                                               const RopeRows& rope) {
  DEEPINFER_TRY([[maybe_unused]] const Done normed, normalize(tools, kv, norm));
  DEEPINFER_TRY([[maybe_unused]] const Done rotated,
                rotate(tools, kv, 1, rope, RopeDirection::kForward));
  const auto packed = take_rows<std::uint8_t>(tools, kv.rows, tools.layout.window_entry);
  DEEPINFER_TRY([[maybe_unused]] const Done done,
                tools.ops.pack({.format = kernels::CacheFormat::kFp8E8m0,
                                .values = kv.read(),
                                .packed = packed.view()}));
  return packed;
}

void write_rings(const StepTools& tools, const StepRows& rows, std::int64_t layer,
                 const Rows<std::uint8_t>& fresh) {
  const std::int64_t slots = tools.layout.ring_slots;
  std::int64_t row = 0;
  for (const SequenceSlice& slice : rows.slices) {
    std::uint8_t* ring = slice.slot + tools.layout.ring_offset(layer);
    for (std::int64_t i = 0; i < slice.count(); ++i, ++row) {
      if (slice.count() - i > slots) continue;  // a later row of this step takes its place
      std::memcpy(ring + (slice.begin + i) % slots * fresh.cols, fresh.data + row * fresh.cols,
                  static_cast<std::size_t>(fresh.cols));
    }
  }
}

Status attention(const StepTools& tools, const StepRows& rows, std::int64_t layer,
                 const LayerWeights& weights, const Rows<Bf16>& x, const Rows<Bf16>& y) {
  const kernels::Scratch::Mark mark(tools.scratch);
  const ModelShape& shape = tools.shape;
  const RopeRows& rope = rope_of(rows, shape.role(layer));

  DEEPINFER_TRY(const Rows<float> rounded, quantize(tools, x));
  DEEPINFER_TRY(const Queries queries, make_queries(tools, weights, rounded, rope));
  DEEPINFER_TRY(const Rows<Bf16> kv, multiply(tools, rounded, weights.wkv));
  DEEPINFER_TRY(const Rows<std::uint8_t> fresh,
                pack_window_entries(tools, kv, weights.kv_norm.view(), rope));
  tools.show(layer, "attn_q", queries.q.data, queries.q.size());

  if (weights.compressor.has_value()) {
    DEEPINFER_TRY([[maybe_unused]] const Done written,
                  write_global_entries(tools, rows, layer, weights, x));
  }
  if (weights.indexer.has_value()) {
    DEEPINFER_TRY([[maybe_unused]] const Done selected,
                  select_global_entries(tools, rows, layer, *weights.indexer, x, queries.low_rank));
  }

  const Rows<Bf16> o = take_rows<Bf16>(tools, rows.rows, shape.heads * shape.head_dim);
  DEEPINFER_TRY(
      [[maybe_unused]] const Done attended,
      attend(tools, rows,
             {.layer = layer, .weights = weights, .fresh = fresh, .q = queries.q, .out = o}));
  tools.show(layer, "attn_o", o.data, o.size());
  DEEPINFER_TRY([[maybe_unused]] const Done rotated,
                rotate(tools, o, shape.heads, rope, RopeDirection::kInverse));
  DEEPINFER_TRY([[maybe_unused]] const Done projected, project_output(tools, weights, o, y));
  write_rings(tools, rows, layer, fresh);
  return Done{};
}

}  // namespace deepinfer::engine
