// The fast CPU path of the experts: the products are linear's; here are the grouping of rows by
// expert, the middle of an expert, and the sum of the answers.
//
// Experts are walked in ascending id, each over all rows that chose it, and each adds to the rows'
// fp32 sums, so the order of a row's sum is that of its ids whatever else is in the batch.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/moe/experts.h"
#include "kernels/quant/activations.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/moe/experts_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {
namespace {

void swiglu_row(const SwigluArgs& args, std::int64_t row) {
  const F32Tag d;
  const float bound = args.limit > 0.0F ? args.limit : std::numeric_limits<float>::infinity();
  const F32 limit = hn::Set(d, bound);
  const F32 weight = hn::Set(d, args.weights == nullptr ? 1.0F : args.weights[row]);
  const F32 one = hn::Set(d, 1.0F);
  const std::int64_t inter = args.gate.extent(1);
  for (std::int64_t i = 0; i < inter; i += static_cast<std::int64_t>(kLanes)) {
    const F32 gate = hn::Min(load_bf16(d, &args.gate(row, i)), limit);
    const F32 up = hn::Clamp(load_bf16(d, &args.up(row, i)), hn::Neg(limit), limit);
    const F32 silu = hn::Div(gate, hn::Add(one, vector_exp(d, hn::Neg(gate))));
    store_bf16(d, hn::Mul(weight, hn::Mul(silu, up)), &args.h(row, i));
  }
}

void add_row(const Bf16* y, std::int64_t n, float* sum) {
  const F32Tag d;
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(kLanes)) {
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), load_bf16(d, y + i)), d, sum + i);
  }
}

void round_row(const float* sum, std::int64_t n, Bf16* y) {
  const F32Tag d;
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(kLanes)) {
    store_bf16(d, hn::LoadU(d, sum + i), y + i);
  }
}

}  // namespace
}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(swiglu_row);
HWY_EXPORT(add_row);
HWY_EXPORT(round_row);

// The rows of one expert: rows[i] chose it with weights[i]; weights null: 1.
struct ExpertRows {
  const std::int64_t* rows;
  const float* weights;
  std::int64_t count;
};

// All rows by expert: those of expert e are entries [begin[e], begin[e + 1]), rows ascending.
struct Grouping {
  std::int64_t* begin;
  std::int64_t* rows;
  float* weights;
};

Grouping group_rows(const ExpertsArgs& args, Scratch& scratch) {
  const std::int64_t rows = args.ids.extent(0);
  const std::int64_t top = args.ids.extent(1);
  const auto experts = static_cast<std::int64_t>(args.experts.size());
  const Grouping grouping{.begin = scratch.take<std::int64_t>(experts + 1),
                          .rows = scratch.take<std::int64_t>(rows * top),
                          .weights = scratch.take<float>(rows * top)};
  auto* next = scratch.take<std::int64_t>(experts + 1);
  std::fill(next, next + experts + 1, std::int64_t{0});
  for (std::int64_t i = 0; i < rows * top; ++i) ++next[args.ids.data()[i] + 1];
  for (std::int64_t e = 0; e < experts; ++e) next[e + 1] += next[e];
  std::copy(next, next + experts + 1, grouping.begin);
  for (std::int64_t i = 0; i < rows * top; ++i) {
    const std::int64_t at = next[args.ids.data()[i]]++;
    grouping.rows[at] = i / top;
    grouping.weights[at] = args.weights.data()[i];
  }
  return grouping;
}

// The expert's input rows side by side; x itself where they lie so already.
const float* gather_rows(const ExpertsArgs& args, const ExpertRows& group, Scratch& scratch) {
  const std::int64_t hidden = args.x.extent(1);
  const float* first = args.x.data() + group.rows[0] * hidden;
  if (group.rows[group.count - 1] - group.rows[0] == group.count - 1) return first;
  auto* gathered = scratch.take<float>(group.count * hidden);
  for (std::int64_t i = 0; i < group.count; ++i) {
    std::memcpy(gathered + i * hidden, args.x.data() + group.rows[i] * hidden,
                static_cast<std::size_t>(hidden) * sizeof(float));
  }
  return gathered;
}

class ExpertRunner {
 public:
  ExpertRunner(const ExpertsArgs& args, Workers& workers, Scratch& scratch)
      : args_(args),
        workers_(workers),
        scratch_(scratch),
        hidden_(args.x.extent(1)),
        sums_(scratch.take<float>(args.x.extent(0) * hidden_)) {
    std::fill(sums_, sums_ + args.x.extent(0) * hidden_, 0.0F);
  }

  // Adds the expert's answers to the sums of its rows.
  Status add(const ExpertWeights& expert, const ExpertRows& group) {
    const Scratch::Mark mark(scratch_);
    const std::int64_t inter = expert.w1.outputs;
    const std::int64_t rows = group.count;
    const View<const float, 2> x(gather_rows(args_, group, scratch_), rows, hidden_);
    auto* gate = scratch_.take<Bf16>(rows * inter);
    auto* up = scratch_.take<Bf16>(rows * inter);
    auto* h = scratch_.take<Bf16>(rows * inter);
    auto* rounded = scratch_.take<float>(rows * inter);
    auto* y = scratch_.take<Bf16>(rows * hidden_);
    DEEPINFER_TRY([[maybe_unused]] const Done gated,
                  linear_cpu({.x = x, .weight = expert.w1, .y_bf16 = gate}, workers_));
    DEEPINFER_TRY([[maybe_unused]] const Done raised,
                  linear_cpu({.x = x, .weight = expert.w3, .y_bf16 = up}, workers_));
    DEEPINFER_TRY([[maybe_unused]] const Done multiplied,
                  swiglu_cpu({.gate = View<const Bf16, 2>(gate, rows, inter),
                              .up = View<const Bf16, 2>(up, rows, inter),
                              .weights = group.weights,
                              .h = View<Bf16, 2>(h, rows, inter),
                              .limit = args_.limit},
                             workers_));
    DEEPINFER_TRY([[maybe_unused]] const Done quantized,
                  quantize_activations_cpu({.x = View<const Bf16, 2>(h, rows, inter),
                                            .y = View<float, 2>(rounded, rows, inter)},
                                           workers_));
    DEEPINFER_TRY(
        [[maybe_unused]] const Done lowered,
        linear_cpu(
            {.x = View<const float, 2>(rounded, rows, inter), .weight = expert.w2, .y_bf16 = y},
            workers_));
    for (std::int64_t i = 0; i < rows; ++i) {
      HWY_DYNAMIC_DISPATCH(add_row)(y + i * hidden_, hidden_, sums_ + group.rows[i] * hidden_);
    }
    return Done{};
  }

  void finish() {
    workers_.for_ranges(args_.x.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(round_row)
      (sums_ + begin * hidden_, (end - begin) * hidden_, args_.y.data() + begin * hidden_);
    });
  }

 private:
  const ExpertsArgs& args_;
  Workers& workers_;
  Scratch& scratch_;
  std::int64_t hidden_;
  float* sums_;  // [rows, hidden], in scratch_
};

}  // namespace

Status swiglu_cpu(const SwigluArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, swiglu_limits(args));

  workers.for_ranges(args.gate.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(swiglu_row)(args, row);
  });
  return Done{};
}

Status experts_cpu(const ExpertsArgs& args, Workers& workers, Scratch& scratch) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, experts_limits(args));
  const std::int64_t rows = args.x.extent(0);
  if (rows == 0) return Done{};

  const Scratch::Mark mark(scratch);
  const Grouping grouping = group_rows(args, scratch);
  ExpertRunner runner(args, workers, scratch);
  for (std::size_t e = 0; e < args.experts.size(); ++e) {
    const std::int64_t begin = grouping.begin[e];
    const std::int64_t count = grouping.begin[e + 1] - begin;
    if (count == 0) continue;
    DEEPINFER_TRY([[maybe_unused]] const Done added,
                  runner.add(args.experts[e], {.rows = grouping.rows + begin,
                                               .weights = grouping.weights + begin,
                                               .count = count}));
  }
  if (args.shared != nullptr) {
    auto* every_row = scratch.take<std::int64_t>(rows);
    for (std::int64_t row = 0; row < rows; ++row) every_row[row] = row;
    DEEPINFER_TRY([[maybe_unused]] const Done added,
                  runner.add(*args.shared, {.rows = every_row, .weights = nullptr, .count = rows}));
  }
  runner.finish();
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
