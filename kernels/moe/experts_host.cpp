// The limits of the experts, and their definition: one token at a time, one expert after the other.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/moe/experts.h"
#include "kernels/quant/activations.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kGroup = 32;

Status refuse(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, "experts: " + what);
}

bool has_shape(const WeightMatrix& weight, std::int64_t outputs, std::int64_t cols) {
  return weight.outputs == outputs && weight.cols == cols;
}

Status expert_limits(const ExpertWeights& expert, std::int64_t inter, std::int64_t hidden) {
  if (has_shape(expert.w1, inter, hidden) && has_shape(expert.w3, inter, hidden) &&
      has_shape(expert.w2, hidden, inter)) {
    return Done{};
  }
  return refuse("a weight is not " + std::to_string(inter) + " x " + std::to_string(hidden));
}

Status row_limits(const ExpertsArgs& args, std::int64_t row, std::int64_t inter) {
  const std::int64_t top = args.ids.extent(1);
  for (std::int64_t i = 0; i < top; ++i) {
    const std::int32_t id = args.ids(row, i);
    if (id < 0 || static_cast<std::size_t>(id) >= args.experts.size()) {
      return refuse("row " + std::to_string(row) + " names expert " + std::to_string(id));
    }
    const std::int32_t* first = &args.ids(row, 0);
    if (std::find(first, first + i, id) != first + i) {
      return refuse("row " + std::to_string(row) + " names expert " + std::to_string(id) +
                    " twice");
    }
    DEEPINFER_TRY(
        [[maybe_unused]] const Done checked,
        expert_limits(args.experts[static_cast<std::size_t>(id)], inter, args.x.extent(1)));
  }
  return Done{};
}

// Adds one expert's answer for one row to sum [hidden].
Status add_expert(const ExpertsArgs& args, const ExpertWeights& expert, std::int64_t row,
                  float weight, std::vector<float>& sum) {
  const std::int64_t hidden = args.x.extent(1);
  const std::int64_t inter = expert.w1.outputs;
  const View<const float, 2> x(&args.x(row, 0), 1, hidden);
  std::vector<Bf16> gate(static_cast<std::size_t>(inter));
  std::vector<Bf16> up(static_cast<std::size_t>(inter));
  std::vector<Bf16> h(static_cast<std::size_t>(inter));
  std::vector<float> rounded(static_cast<std::size_t>(inter));
  std::vector<Bf16> y(static_cast<std::size_t>(hidden));
  DEEPINFER_TRY([[maybe_unused]] const Done gated,
                linear_reference({.x = x, .weight = expert.w1, .y_bf16 = gate.data()}));
  DEEPINFER_TRY([[maybe_unused]] const Done raised,
                linear_reference({.x = x, .weight = expert.w3, .y_bf16 = up.data()}));
  DEEPINFER_TRY([[maybe_unused]] const Done multiplied,
                swiglu_reference({.gate = View<const Bf16, 2>(gate.data(), 1, inter),
                                  .up = View<const Bf16, 2>(up.data(), 1, inter),
                                  .weights = &weight,
                                  .h = View<Bf16, 2>(h.data(), 1, inter),
                                  .limit = args.limit}));
  DEEPINFER_TRY([[maybe_unused]] const Done quantized,
                quantize_activations_reference({.x = View<const Bf16, 2>(h.data(), 1, inter),
                                                .y = View<float, 2>(rounded.data(), 1, inter)}));
  DEEPINFER_TRY([[maybe_unused]] const Done lowered,
                linear_reference({.x = View<const float, 2>(rounded.data(), 1, inter),
                                  .weight = expert.w2,
                                  .y_bf16 = y.data()}));
  std::transform(sum.begin(), sum.end(), y.begin(), sum.begin(),
                 [](float total, Bf16 added) { return total + to_float(added); });
  return Done{};
}

}  // namespace

Status experts_limits(const ExpertsArgs& args) {
  const std::int64_t rows = args.x.extent(0);
  const std::int64_t hidden = args.x.extent(1);
  if (args.ids.extent(0) != rows || args.weights.extent(0) != rows ||
      args.weights.extent(1) != args.ids.extent(1) || args.y.extent(0) != rows ||
      args.y.extent(1) != hidden) {
    return refuse("shapes of x, ids, weights and y disagree");
  }
  if (args.experts.empty()) return refuse("there are none");
  const std::int64_t inter = args.experts[0].w1.outputs;
  if (hidden <= 0 || hidden % kGroup != 0 || inter <= 0 || inter % kGroup != 0) {
    return refuse("hidden is " + std::to_string(hidden) + ", inter is " + std::to_string(inter));
  }
  if (args.shared != nullptr) {
    DEEPINFER_TRY([[maybe_unused]] const Done checked, expert_limits(*args.shared, inter, hidden));
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    DEEPINFER_TRY([[maybe_unused]] const Done checked, row_limits(args, row, inter));
  }
  return Done{};
}

Status experts_reference(const ExpertsArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, experts_limits(args));

  const std::int64_t top = args.ids.extent(1);
  std::vector<std::int64_t> order(static_cast<std::size_t>(top));
  for (std::int64_t row = 0; row < args.x.extent(0); ++row) {
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::int64_t a, std::int64_t b) { return args.ids(row, a) < args.ids(row, b); });
    std::vector<float> sum(static_cast<std::size_t>(args.x.extent(1)), 0.0F);
    for (const std::int64_t i : order) {
      const ExpertWeights& expert = args.experts[static_cast<std::size_t>(args.ids(row, i))];
      DEEPINFER_TRY([[maybe_unused]] const Done added,
                    add_expert(args, expert, row, args.weights(row, i), sum));
    }
    if (args.shared != nullptr) {
      DEEPINFER_TRY([[maybe_unused]] const Done added,
                    add_expert(args, *args.shared, row, 1.0F, sum));
    }
    std::transform(sum.begin(), sum.end(), &args.y(row, 0), to_bf16);
  }
  return Done{};
}

Status swiglu_limits(const SwigluArgs& args) {
  const std::int64_t rows = args.gate.extent(0);
  const std::int64_t inter = args.gate.extent(1);
  if (args.up.extent(0) != rows || args.h.extent(0) != rows || args.up.extent(1) != inter ||
      args.h.extent(1) != inter || inter <= 0 || inter % kGroup != 0) {
    return fail(ErrorCode::kInvalidArgument, "swiglu: inter is " + std::to_string(inter));
  }
  return Done{};
}

Status swiglu_reference(const SwigluArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, swiglu_limits(args));

  const auto limit = static_cast<double>(args.limit);
  for (std::int64_t row = 0; row < args.gate.extent(0); ++row) {
    const double weight = args.weights == nullptr ? 1.0 : static_cast<double>(args.weights[row]);
    for (std::int64_t i = 0; i < args.gate.extent(1); ++i) {
      double gate = to_float(args.gate(row, i));
      double up = to_float(args.up(row, i));
      if (args.limit > 0.0F) {
        gate = std::min(gate, limit);
        up = std::clamp(up, -limit, limit);
      }
      const double silu = gate / (1.0 + std::exp(-gate));
      args.h(row, i) = to_bf16(static_cast<float>(weight * (silu * up)));
    }
  }
  return Done{};
}

}  // namespace deepinfer::kernels
