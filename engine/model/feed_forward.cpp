#include "engine/model/feed_forward.h"

namespace deepinfer::engine {

using kernels::Bf16;

Status feed_forward(const StepTools& tools, std::int64_t layer, const LayerWeights& weights,
                    const Rows<Bf16>& x, const Rows<Bf16>& y) {
  const kernels::Scratch::Mark mark(tools.scratch);
  const ModelShape& shape = tools.shape;

  DEEPINFER_TRY(const Rows<float> wide, widen(tools, x));
  DEEPINFER_TRY(const Rows<float> logits, multiply_f32(tools, wide, weights.gate));
  const auto ids = take_rows<std::int32_t>(tools, x.rows, shape.experts_per_token);
  const auto route_weights = take_rows<float>(tools, x.rows, shape.experts_per_token);
  DEEPINFER_TRY([[maybe_unused]] const Done routed,
                tools.ops.route({.logits = logits.read(),
                                 .bias = weights.gate_bias.view(),
                                 .ids = ids.view(),
                                 .weights = route_weights.view(),
                                 .factor = static_cast<float>(shape.route_factor),
                                 .temperature = static_cast<float>(shape.gate_temperature)},
                                tools.workers));
  tools.show(layer, "router_ids", ids.data, ids.size());
  tools.show(layer, "router_weights", route_weights.data, route_weights.size());

  DEEPINFER_TRY(const Rows<float> rounded, quantize(tools, x));
  return tools.ops.experts({.x = rounded.read(),
                            .ids = ids.read(),
                            .weights = route_weights.read(),
                            .experts = weights.experts,
                            .shared = &weights.shared,
                            .y = y.view(),
                            .limit = static_cast<float>(shape.swiglu_limit)},
                           tools.workers, tools.scratch);
}

}  // namespace deepinfer::engine
