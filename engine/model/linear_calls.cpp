#include "engine/model/linear_calls.h"

namespace deepinfer::engine {

using kernels::Bf16;

Result<Rows<float>> quantize(const StepTools& tools, const Rows<Bf16>& x) {
  const Rows<float> y = take_rows<float>(tools, x.rows, x.cols);
  DEEPINFER_TRY([[maybe_unused]] const Done done,
                tools.ops.quantize({.x = x.read(), .y = y.view()}, tools.workers));
  return y;
}

Result<Rows<float>> widen(const StepTools& tools, const Rows<Bf16>& x) {
  const Rows<float> y = take_rows<float>(tools, x.rows, x.cols);
  DEEPINFER_TRY([[maybe_unused]] const Done done,
                kernels::widen_cpu({.x = x.read(), .y = y.view()}, tools.workers));
  return y;
}

Result<Rows<Bf16>> multiply(const StepTools& tools, const Rows<float>& x,
                            const kernels::WeightMatrix& weight) {
  const Rows<Bf16> y = take_rows<Bf16>(tools, x.rows, weight.outputs);
  DEEPINFER_TRY(
      [[maybe_unused]] const Done done,
      tools.ops.linear({.x = x.read(), .weight = weight, .y_bf16 = y.data}, tools.workers));
  return y;
}

Result<Rows<float>> multiply_f32(const StepTools& tools, const Rows<float>& x,
                                 const kernels::WeightMatrix& weight) {
  const Rows<float> y = take_rows<float>(tools, x.rows, weight.outputs);
  DEEPINFER_TRY(
      [[maybe_unused]] const Done done,
      tools.ops.linear({.x = x.read(), .weight = weight, .y_f32 = y.data}, tools.workers));
  return y;
}

Status normalize(const StepTools& tools, const Rows<Bf16>& x, kernels::View<const Bf16, 1> weight) {
  return tools.ops.rms_norm({.x = x.read(),
                             .weight = weight,
                             .y = x.view(),
                             .epsilon = static_cast<float>(tools.shape.norm_epsilon)},
                            tools.workers);
}

Status rotate(const StepTools& tools, const Rows<Bf16>& x, std::int64_t heads, const RopeRows& rope,
              kernels::RopeDirection direction) {
  const std::int64_t half = tools.shape.rope_dims / 2;
  return tools.ops.rotate({.x = x.heads(heads),
                           .cos = rope.cos_view(x.rows, half),
                           .sin = rope.sin_view(x.rows, half),
                           .direction = direction},
                          tools.workers);
}

}  // namespace deepinfer::engine
