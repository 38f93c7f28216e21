#include "engine/model/forward.h"

#include <cstring>
#include <string>
#include <utility>

#include "engine/model/attention.h"
#include "engine/model/engram.h"
#include "engine/model/feed_forward.h"

namespace deepinfer::engine {
namespace {

using kernels::Bf16;

std::vector<float> window_frequencies(const ModelShape& shape) {
  return kernels::rope_frequencies({.dims = shape.rope_dims, .base = shape.rope_theta, .yarn = {}});
}

std::vector<float> compress_frequencies(const ModelShape& shape) {
  const RopeScaling& scaling = shape.rope_scaling;
  return kernels::rope_frequencies(
      {.dims = shape.rope_dims,
       .base = shape.compress_rope_theta,
       .yarn = kernels::YarnScaling{.factor = scaling.factor,
                                    .beta_fast = scaling.beta_fast,
                                    .beta_slow = scaling.beta_slow,
                                    .original_positions = scaling.original_positions}});
}

// The coefficients of one sub-block.
struct Mixes {
  Rows<float> pre;   // [rows, copies]
  Rows<float> post;  // [rows, copies]
  Rows<float> comb;  // [rows, copies * copies]

  [[nodiscard]] kernels::View<float, 3> comb_view(std::int64_t copies) const {
    return comb.heads(copies);
  }
};

Result<Mixes> mix(const StepTools& tools, const StepRows& rows, const HyperConnection& weights) {
  const ModelShape& shape = tools.shape;
  const std::int64_t copies = shape.copies;
  const Mixes mixes{take_rows<float>(tools, rows.rows, copies),
                    take_rows<float>(tools, rows.rows, copies),
                    take_rows<float>(tools, rows.rows, copies * copies)};
  DEEPINFER_TRY([[maybe_unused]] const Done done,
                tools.ops.mix({.h = rows.read_stream(shape),
                               .fn = weights.fn.matrix(shape.mixes()),
                               .scale = weights.scale.view(),
                               .base = weights.base.view(),
                               .pre = mixes.pre.view(),
                               .post = mixes.post.view(),
                               .comb = mixes.comb_view(copies),
                               .iterations = shape.sinkhorn_iterations,
                               .epsilon = static_cast<float>(shape.hc_epsilon),
                               .norm_epsilon = static_cast<float>(shape.norm_epsilon)},
                              tools.workers));
  return mixes;
}

// RMSNorm of the stream collapsed with `pre`: a sub-block's input.
Result<Rows<Bf16>> collapse(const StepTools& tools, const StepRows& rows,
                            kernels::View<const float, 2> pre, kernels::View<const Bf16, 1> norm) {
  const Rows<Bf16> x = take_rows<Bf16>(tools, rows.rows, tools.shape.hidden);
  DEEPINFER_TRY([[maybe_unused]] const Done done,
                tools.ops.collapse({.h = rows.read_stream(tools.shape), .pre = pre, .x = x.view()},
                                   tools.workers));
  DEEPINFER_TRY([[maybe_unused]] const Done normed, normalize(tools, x, norm));
  return x;
}

Status update(const StepTools& tools, const StepRows& rows, const Rows<Bf16>& y,
              const Mixes& mixes) {
  const std::int64_t copies = tools.shape.copies;
  return tools.ops.stream_update(
      {.h = rows.stream(tools.shape),
       .y = y.read(),
       .post = mixes.post.read(),
       .comb = kernels::View<const float, 3>(mixes.comb.data, rows.rows, copies, copies)},
      tools.workers);
}

// aux = bf16(mean of the copies), into columns [column, column + hidden) of `input`.
void keep_draft_input(const StepTools& tools, const StepRows& rows, std::int64_t column,
                      const Rows<Bf16>& input) {
  const std::int64_t hidden = tools.shape.hidden;
  const std::int64_t copies = tools.shape.copies;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const Bf16* stream = rows.h + row * copies * hidden;
    Bf16* out = input.data + row * input.cols + column;
    for (std::int64_t i = 0; i < hidden; ++i) {
      float sum = 0.0F;
      for (std::int64_t c = 0; c < copies; ++c) sum += kernels::to_float(stream[c * hidden + i]);
      out[i] = kernels::to_bf16(sum / static_cast<float>(copies));
    }
  }
}

std::int64_t count_rows(std::span<const SequenceSlice> slices) {
  std::int64_t rows = 0;
  for (const SequenceSlice& slice : slices) rows += slice.count();
  return rows;
}

}  // namespace

Forward::Forward(Parts parts)
    : parts_(std::move(parts)),
      window_frequencies_(window_frequencies(parts_.shape)),
      compress_frequencies_(compress_frequencies(parts_.shape)),
      workers_(parts_.threads) {}

StepTools Forward::tools(StepObserver* observer) {
  return {.shape = parts_.shape,
          .layout = parts_.layout,
          .ops = parts_.ops,
          .workers = workers_,
          .scratch = scratch_,
          .observer = observer};
}

Status Forward::run(std::span<const SequenceSlice> slices, kernels::View<float, 2> logits,
                    StepObserver* observer) {
  const kernels::Scratch::Mark mark(scratch_);
  const StepTools with = tools(observer);
  DEEPINFER_TRY(const Step step, begin(with, slices));
  for (std::int64_t layer = 0; layer < parts_.shape.layers; ++layer) {
    DEEPINFER_TRY([[maybe_unused]] const Done done, run_layer(with, step, layer));
  }
  if (parts_.write_draft_state) {
    DEEPINFER_TRY([[maybe_unused]] const Done done, write_draft_window(with, step));
  }
  return project_logits(with, step, logits);
}

Result<Forward::Step> Forward::begin(const StepTools& tools,
                                     std::span<const SequenceSlice> slices) {
  const ModelShape& shape = parts_.shape;
  Step step;
  StepRows& rows = step.rows;
  rows.slices = slices;
  rows.rows = count_rows(slices);
  rows.positions = scratch_.take<std::int64_t>(rows.rows);
  std::int64_t row = 0;
  for (const SequenceSlice& slice : slices) {
    for (std::int64_t i = 0; i < slice.count(); ++i) rows.positions[row++] = slice.begin + i;
  }
  DEEPINFER_TRY(rows.window_rope, rope_rows(tools, rows, window_frequencies_));
  DEEPINFER_TRY(rows.compress_rope, rope_rows(tools, rows, compress_frequencies_));
  rows.compress_frequencies = &compress_frequencies_;
  rows.h = scratch_.take<Bf16>(rows.rows * shape.copies * shape.hidden);
  rows.pre = scratch_.take<float>(rows.rows * shape.copies);
  rows.selected = scratch_.take<std::int32_t>(rows.rows * shape.index_top);
  rows.candidates = scratch_.take<std::int32_t>(rows.rows * shape.candidate_blocks);
  DEEPINFER_TRY([[maybe_unused]] const Done embedded, embed(rows));
  if (!shape.engram.layer_ids.empty()) {
    step.engram_history = engram_history(tools, rows, parts_.token_map);
  }
  if (parts_.write_draft_state) {
    const auto targets = static_cast<std::int64_t>(shape.draft.target_layers.size());
    step.draft_input = take_rows<Bf16>(tools, rows.rows, targets * shape.hidden);
  }
  return step;
}

Status Forward::embed(const StepRows& rows) const {
  const ModelShape& shape = parts_.shape;
  const auto* table = static_cast<const Bf16*>(parts_.weights.embed.data);
  const auto bytes = static_cast<std::size_t>(shape.hidden) * sizeof(Bf16);
  Bf16* out = rows.h;
  float* pre = rows.pre;
  for (const SequenceSlice& slice : rows.slices) {
    for (const TokenId token : slice.tokens) {
      if (value_of(token) < 0 || value_of(token) >= shape.vocabulary) {
        return fail(ErrorCode::kInvalidArgument, "token id " + std::to_string(value_of(token)) +
                                                     " is outside the vocabulary of " +
                                                     std::to_string(shape.vocabulary));
      }
      for (std::int64_t c = 0; c < shape.copies; ++c, out += shape.hidden) {
        std::memcpy(out, table + value_of(token) * shape.hidden, bytes);
        *pre++ = c == 0 ? 1.0F : 0.0F;
      }
    }
  }
  return Done{};
}

Result<RopeRows> Forward::rope_rows(const StepTools& tools, const StepRows& rows,
                                    const std::vector<float>& frequencies) const {
  const std::int64_t half = parts_.shape.rope_dims / 2;
  const RopeRows rope{tools.scratch.take<float>(rows.rows * half),
                      tools.scratch.take<float>(rows.rows * half)};
  DEEPINFER_TRY([[maybe_unused]] const Done done,
                kernels::rope_table(
                    {.positions = kernels::View<const std::int64_t, 1>(rows.positions, rows.rows),
                     .frequencies = kernels::View<const float, 1>(frequencies.data(), half),
                     .cos = kernels::View<float, 2>(rope.cos, rows.rows, half),
                     .sin = kernels::View<float, 2>(rope.sin, rows.rows, half)}));
  return rope;
}

Status Forward::run_layer(const StepTools& tools, const Step& step, std::int64_t layer) {
  const kernels::Scratch::Mark mark(scratch_);
  const ModelShape& shape = parts_.shape;
  const StepRows& rows = step.rows;
  const LayerWeights& weights = parts_.weights.layers[static_cast<std::size_t>(layer)];

  if (weights.engram.has_value()) {
    DEEPINFER_TRY([[maybe_unused]] const Done recalled,
                  apply_engram(tools, rows, layer, *weights.engram, step.engram_history));
  }
  if (parts_.write_draft_state) {
    const auto& targets = shape.draft.target_layers;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] != layer) continue;
      keep_draft_input(tools, rows, static_cast<std::int64_t>(i) * shape.hidden, step.draft_input);
    }
  }

  const Rows<Bf16> y = take_rows<Bf16>(tools, rows.rows, shape.hidden);
  const Rows<float> pre_in{rows.pre, rows.rows, shape.copies};
  DEEPINFER_TRY(const Mixes attn, mix(tools, rows, weights.attn_mix));
  DEEPINFER_TRY(const Rows<Bf16> attn_in,
                collapse(tools, rows, pre_in.read(), weights.attn_norm.view()));
  tools.show(layer, "attn_in", attn_in.data, attn_in.size());
  DEEPINFER_TRY([[maybe_unused]] const Done attended,
                attention(tools, rows, layer, weights, attn_in, y));
  tools.show(layer, "attn_out", y.data, y.size());
  DEEPINFER_TRY([[maybe_unused]] const Done attn_added, update(tools, rows, y, attn));

  DEEPINFER_TRY(const Mixes ffn, mix(tools, rows, weights.ffn_mix));
  DEEPINFER_TRY(const Rows<Bf16> ffn_in,
                collapse(tools, rows, attn.pre.read(), weights.ffn_norm.view()));
  tools.show(layer, "ffn_in", ffn_in.data, ffn_in.size());
  DEEPINFER_TRY([[maybe_unused]] const Done fed, feed_forward(tools, layer, weights, ffn_in, y));
  tools.show(layer, "ffn_out", y.data, y.size());
  DEEPINFER_TRY([[maybe_unused]] const Done ffn_added, update(tools, rows, y, ffn));

  std::memcpy(rows.pre, ffn.pre.data, static_cast<std::size_t>(ffn.pre.size()) * sizeof(float));
  tools.show(layer, "resid", rows.h, rows.rows * shape.copies * shape.hidden);
  tools.show(layer, "pre_mix", rows.pre, rows.rows * shape.copies);
  return Done{};
}

Status Forward::write_draft_window(const StepTools& tools, const Step& step) const {
  const DraftInputWeights& draft = *parts_.weights.draft;
  tools.show(-1, "main_hidden", step.draft_input.data, step.draft_input.size());
  DEEPINFER_TRY(const Rows<float> rounded, quantize(tools, step.draft_input));
  DEEPINFER_TRY(const Rows<Bf16> main, multiply(tools, rounded, draft.main_proj));
  DEEPINFER_TRY([[maybe_unused]] const Done normed, normalize(tools, main, draft.main_norm.view()));
  DEEPINFER_TRY(const Rows<float> input, quantize(tools, main));
  for (std::size_t i = 0; i < draft.layers.size(); ++i) {
    const DraftInputWeights::Layer& layer = draft.layers[i];
    DEEPINFER_TRY(const Rows<Bf16> kv, multiply(tools, input, layer.wkv));
    DEEPINFER_TRY(const Rows<std::uint8_t> fresh,
                  pack_window_entries(tools, kv, layer.kv_norm.view(), step.rows.window_rope));
    write_rings(tools, step.rows, parts_.shape.layers + static_cast<std::int64_t>(i), fresh);
  }
  return Done{};
}

Status Forward::project_logits(const StepTools& tools, const Step& step,
                               kernels::View<float, 2> logits) const {
  const ModelShape& shape = parts_.shape;
  const std::int64_t wanted = logits.extent(0);
  if (wanted == 0) return Done{};
  StepRows kept = step.rows;
  kept.rows = wanted;
  kept.h = tools.scratch.take<Bf16>(wanted * shape.copies * shape.hidden);
  const Rows<float> pre = take_rows<float>(tools, wanted, shape.copies);
  const std::int64_t width = shape.copies * shape.hidden;
  std::int64_t end = 0;  // the row behind the slice
  std::int64_t out = 0;
  for (const SequenceSlice& slice : step.rows.slices) {
    end += slice.count();
    for (std::int64_t row = end - slice.logit_rows; row < end; ++row, ++out) {
      std::memcpy(kept.h + out * width, step.rows.h + row * width,
                  static_cast<std::size_t>(width) * sizeof(Bf16));
      std::memcpy(pre.data + out * shape.copies, step.rows.pre + row * shape.copies,
                  static_cast<std::size_t>(shape.copies) * sizeof(float));
    }
  }
  DEEPINFER_TRY(const Rows<Bf16> x, collapse(tools, kept, pre.read(), parts_.weights.norm.view()));
  tools.show(-1, "final_norm", x.data, x.size());
  DEEPINFER_TRY(const Rows<float> wide, widen(tools, x));
  return tools.ops.linear({.x = wide.read(), .weight = parts_.weights.head, .y_f32 = logits.data()},
                          tools.workers);
}

}  // namespace deepinfer::engine
