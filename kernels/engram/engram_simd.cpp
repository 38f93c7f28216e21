// The fast CPU path of the n-gram memory.
//
// Gather: a table row is exact in the rounding that follows it unless a whole group lies below the
// floor of that rounding, so only such a group takes the way through quantize_activations.
// Gate: one pass for the three sums of a copy, one for its update.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/engram/engram.h"
#include "kernels/quant/activations.h"
#include "kernels/quant/cache_formats.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/engram/engram_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {
namespace {

// Of one copy of one row: the weighted dot product of stream and key, the squares of the stream, the
// squares of the key. weights[0] is q_weight, weights[1] k_weight.
void gate_sums(const Bf16* stream, const Bf16* keys, const Bf16* const* weights,
               std::int64_t hidden, float* sums) {
  const F32Tag d;
  Sums16 dot = zero16();
  Sums16 h_squares = zero16();
  Sums16 key_squares = zero16();
  for (std::int64_t i = 0; i < hidden; i += static_cast<std::int64_t>(kPartialSums)) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const std::int64_t at = i + static_cast<std::int64_t>(p * kLanes);
      const F32 h = load_bf16(d, stream + at);
      const F32 key = load_bf16(d, keys + at);
      const F32 weight = hn::Mul(load_bf16(d, weights[0] + at), load_bf16(d, weights[1] + at));
      dot.part[p] = hn::MulAdd(hn::Mul(h, weight), key, dot.part[p]);
      h_squares.part[p] = hn::MulAdd(h, h, h_squares.part[p]);
      key_squares.part[p] = hn::MulAdd(key, key, key_squares.part[p]);
    }
  }
  sums[0] = fold16(dot);
  sums[1] = fold16(h_squares);
  sums[2] = fold16(key_squares);
}

// h <- bf16(h + gate * value).
void add_gated(Bf16* h, const Bf16* value, float gate, std::int64_t hidden) {
  const F32Tag d;
  const F32 factor = hn::Set(d, gate);
  for (std::int64_t i = 0; i < hidden; i += static_cast<std::int64_t>(kLanes)) {
    const F32 added = hn::Mul(factor, load_bf16(d, value + i));
    store_bf16(d, hn::Add(load_bf16(d, h + i), added), h + i);
  }
}

}  // namespace
}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(gate_sums);
HWY_EXPORT(add_gated);

constexpr std::int64_t kGroup = 32;
constexpr float kRoundingFloor = 1e-4F;  // the least amax of quantize_activations

// A group under the floor loses bits in the rounding; every other one keeps its values.
void round_small_group(float* group) {
  float largest = 0.0F;
  for (std::int64_t i = 0; i < kGroup; ++i) largest = std::max(largest, std::abs(group[i]));
  if (largest >= kRoundingFloor) return;
  Bf16 rounded[kGroup];
  std::transform(group, group + kGroup, rounded, to_bf16);
  // The limits hold by construction, so there is no failure to report.
  static_cast<void>(quantize_activations_reference(
      {.x = View<const Bf16, 2>(rounded, 1, kGroup), .y = View<float, 2>(group, 1, kGroup)}));
}

float inverse_rms(float sum_of_squares, std::int64_t hidden, float epsilon) {
  return 1.0F / std::sqrt(sum_of_squares / static_cast<float>(hidden) + epsilon);
}

// In double, so that the float is the same whatever the C library's exp rounds to.
float gate_of(float dot) {
  const double size = std::sqrt(static_cast<double>(std::max(std::abs(dot), 1e-6F)));
  return static_cast<float>(1.0 / (1.0 + std::exp(-std::copysign(size, static_cast<double>(dot)))));
}

void gate_row(const EngramGateArgs& args, std::int64_t row) {
  const std::int64_t copies = args.h.extent(1);
  const std::int64_t hidden = args.h.extent(2);
  const Bf16* value = &args.kv(row, copies * hidden);
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    const Bf16* weights[] = {&args.q_weight(copy, 0), &args.k_weight(copy, 0)};
    float sums[3];
    HWY_DYNAMIC_DISPATCH(gate_sums)
    (&args.h(row, copy, 0), &args.kv(row, copy * hidden), weights, hidden, sums);
    const float scale =
        inverse_rms(sums[1], hidden, args.epsilon) * inverse_rms(sums[2], hidden, args.epsilon);
    const float dot = sums[0] * scale / std::sqrt(static_cast<float>(hidden));
    HWY_DYNAMIC_DISPATCH(add_gated)(&args.h(row, copy, 0), value, gate_of(dot), hidden);
  }
}

}  // namespace

Status engram_gather_cpu(const EngramGatherArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, engram_gather_limits(args));

  const EngramTable& table = args.table;
  const std::int64_t columns = args.table_rows.extent(1);
  workers.for_ranges(args.table_rows.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin * columns; i < end * columns; ++i) {
      const std::int64_t entry = args.table_rows.data()[i];
      float* y = args.y.data() + i * table.dim;
      unpack_row_cpu({.format = CacheFormat::kFp8E8m0,
                      .codes = table.codes + entry * table.dim,
                      .scales = table.scales + entry * (table.dim / kGroup),
                      .n = table.dim,
                      .unpacked = y});
      for (std::int64_t group = 0; group < table.dim; group += kGroup) {
        round_small_group(y + group);
      }
    }
  });
  return Done{};
}

Status engram_gate_cpu(const EngramGateArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, engram_gate_limits(args));

  workers.for_ranges(args.h.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      if (args.closed != nullptr && args.closed[row] != 0) continue;
      gate_row(args, row);
    }
  });
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
