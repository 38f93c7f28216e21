// The limits of the two steps of the n-gram memory, and their definitions in plain C++.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/engram/engram.h"
#include "kernels/quant/activations.h"
#include "kernels/quant/cache_formats.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kGroup = 32;
constexpr std::int64_t kPartialSums = 16;

// The argument of the gate's sigmoid, from the scaled dot product.
double gate_of(double dot) {
  const double root = std::copysign(std::sqrt(std::max(std::abs(dot), 1e-6)), dot);
  return 1.0 / (1.0 + std::exp(-root));
}

void gate_copy_reference(const EngramGateArgs& args, std::int64_t row, std::int64_t copy) {
  const std::int64_t hidden = args.h.extent(2);
  double dot = 0.0;
  double key_squares = 0.0;
  double h_squares = 0.0;
  for (std::int64_t i = 0; i < hidden; ++i) {
    const double h = to_float(args.h(row, copy, i));
    const double key = to_float(args.kv(row, copy * hidden + i));
    const double weight = static_cast<double>(to_float(args.q_weight(copy, i))) *
                          static_cast<double>(to_float(args.k_weight(copy, i)));
    dot += h * weight * key;
    key_squares += key * key;
    h_squares += h * h;
  }
  const auto count = static_cast<double>(hidden);
  const auto epsilon = static_cast<double>(args.epsilon);
  dot /= std::sqrt(h_squares / count + epsilon) * std::sqrt(key_squares / count + epsilon);

  const double gate = gate_of(dot / std::sqrt(count));
  for (std::int64_t i = 0; i < hidden; ++i) {
    const double value = to_float(args.kv(row, args.h.extent(1) * hidden + i));
    const double h = to_float(args.h(row, copy, i));
    args.h(row, copy, i) = to_bf16(static_cast<float>(h + gate * value));
  }
}

}  // namespace

Status engram_gather_limits(const EngramGatherArgs& args) {
  const EngramTable& table = args.table;
  if (table.codes == nullptr || table.scales == nullptr || table.dim <= 0 ||
      table.dim % kGroup != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "engram_gather: no table, or its dim is " + std::to_string(table.dim));
  }
  const std::int64_t columns = args.table_rows.extent(1);
  if (args.y.extent(0) != args.table_rows.extent(0) || args.y.extent(1) != columns * table.dim) {
    return fail(ErrorCode::kInvalidArgument, "engram_gather: shapes of rows and y disagree");
  }
  const std::int64_t count = args.table_rows.extent(0) * columns;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = args.table_rows.data()[i];
    if (row < 0 || row >= table.rows) {
      return fail(ErrorCode::kInvalidArgument, "engram_gather: row " + std::to_string(row) +
                                                   " of a table of " + std::to_string(table.rows));
    }
  }
  return Done{};
}

Status engram_gather_reference(const EngramGatherArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, engram_gather_limits(args));

  const EngramTable& table = args.table;
  std::vector<float> values(static_cast<std::size_t>(table.dim));
  std::vector<Bf16> rounded(static_cast<std::size_t>(table.dim));
  for (std::int64_t row = 0; row < args.table_rows.extent(0); ++row) {
    for (std::int64_t column = 0; column < args.table_rows.extent(1); ++column) {
      const std::int64_t entry = args.table_rows(row, column);
      unpack_row_reference({.format = CacheFormat::kFp8E8m0,
                            .codes = table.codes + entry * table.dim,
                            .scales = table.scales + entry * (table.dim / kGroup),
                            .n = table.dim,
                            .unpacked = values.data()});
      std::transform(values.begin(), values.end(), rounded.begin(), to_bf16);
      DEEPINFER_TRY([[maybe_unused]] const Done quantized,
                    quantize_activations_reference(
                        {.x = View<const Bf16, 2>(rounded.data(), 1, table.dim),
                         .y = View<float, 2>(&args.y(row, column * table.dim), 1, table.dim)}));
    }
  }
  return Done{};
}

Status engram_gate_limits(const EngramGateArgs& args) {
  const std::int64_t copies = args.h.extent(1);
  const std::int64_t hidden = args.h.extent(2);
  if (copies <= 0 || hidden <= 0 || hidden % kPartialSums != 0) {
    return fail(ErrorCode::kInvalidArgument, "engram_gate: hidden is " + std::to_string(hidden));
  }
  const auto is_weight = [&](const View<const Bf16, 2>& weight) {
    return weight.extent(0) == copies && weight.extent(1) == hidden;
  };
  if (args.kv.extent(0) != args.h.extent(0) || args.kv.extent(1) != (copies + 1) * hidden ||
      !is_weight(args.q_weight) || !is_weight(args.k_weight)) {
    return fail(ErrorCode::kInvalidArgument, "engram_gate: shapes of h, kv and weights disagree");
  }
  return Done{};
}

Status engram_gate_reference(const EngramGateArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, engram_gate_limits(args));

  for (std::int64_t row = 0; row < args.h.extent(0); ++row) {
    if (args.closed != nullptr && args.closed[row] != 0) continue;
    for (std::int64_t copy = 0; copy < args.h.extent(1); ++copy) {
      gate_copy_reference(args, row, copy);
    }
  }
  return Done{};
}

}  // namespace deepinfer::kernels
