#include "engine/model/engram.h"

namespace deepinfer::engine {

using kernels::Bf16;

Rows<std::int32_t> engram_history(const StepTools& tools, const StepRows& rows,
                                  std::span<const std::int32_t> token_map) {
  const std::int64_t orders = tools.shape.engram.max_ngram;
  const auto compressed = [&](TokenId id) {
    return token_map[static_cast<std::size_t>(value_of(id))];
  };
  const std::int32_t pad = token_map[static_cast<std::size_t>(tools.shape.engram.pad_token)];
  const Rows<std::int32_t> history = take_rows<std::int32_t>(tools, rows.rows, orders);
  std::int32_t* out = history.data;
  for (const SequenceSlice& slice : rows.slices) {
    const auto known = static_cast<std::int64_t>(slice.before.size());
    for (std::int64_t i = 0; i < slice.count(); ++i) {
      for (std::int64_t back = 0; back < orders; ++back) {
        const std::int64_t at = i - back;  // in this slice; negative: in what precedes it
        if (at >= 0) {
          *out++ = compressed(slice.tokens[static_cast<std::size_t>(at)]);
        } else if (known + at >= 0) {
          *out++ = compressed(slice.before[static_cast<std::size_t>(known + at)]);
        } else {
          *out++ = pad;
        }
      }
    }
  }
  return history;
}

Status apply_engram(const StepTools& tools, const StepRows& rows, std::int64_t layer,
                    const EngramWeights& weights, const Rows<std::int32_t>& history) {
  const kernels::Scratch::Mark mark(tools.scratch);
  const EngramShape& shape = tools.shape.engram;

  const auto table_rows = take_rows<std::int64_t>(tools, rows.rows, shape.columns());
  DEEPINFER_TRY(
      [[maybe_unused]] const Done hashed,
      kernels::engram_hash(
          {.hash = &weights.hash, .history = history.read(), .table_rows = table_rows.view()}));
  tools.show(layer, "engram_hash", table_rows.data, table_rows.size());

  const Rows<float> recalled = take_rows<float>(tools, rows.rows, shape.width());
  DEEPINFER_TRY([[maybe_unused]] const Done gathered,
                tools.ops.engram_gather(
                    {.table = weights.table, .table_rows = table_rows.read(), .y = recalled.view()},
                    tools.workers));
  DEEPINFER_TRY(const Rows<Bf16> kv, multiply(tools, recalled, weights.wkv));
  DEEPINFER_TRY([[maybe_unused]] const Done gated,
                tools.ops.engram_gate({.h = rows.stream(tools.shape),
                                       .kv = kv.read(),
                                       .q_weight = weights.q_weight.matrix(tools.shape.copies),
                                       .k_weight = weights.k_weight.matrix(tools.shape.copies),
                                       .epsilon = static_cast<float>(tools.shape.norm_epsilon)},
                                      tools.workers));
  tools.show(layer, "engram_out", rows.h, rows.rows * tools.shape.copies * tools.shape.hidden);
  return Done{};
}

}  // namespace deepinfer::engine
