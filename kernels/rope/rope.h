// Rotary position embedding of the last dims of a vector, adjacent pairs, with optional YaRN.
//
//   freq_i = fp32(1 / fp32(base^(2i / dims))), then the YaRN blend; angle = fp32(fp32(p) * freq_i)
//   (a, b) -> (a cos - b sin, a sin + b cos) for elements (2i, 2i + 1) of the tail
//
// Shapes:   frequencies [dims / 2] f32; table: cos, sin [rows, dims / 2] f32;
//           x [rows, heads, n] bf16, rotated in place on elements n - dims .. n - 1
// Limits:   dims even, dims <= n
// Numerics: the angle is an fp32 product; its cos and sin are rounded once to fp32 from double;
//           the rotation is fp32 (two products, one sum), one rounding to bf16
// Batch:    row-pure
// Errors:   kInvalidArgument when a limit is broken
// Source:   spec/model.md 5.1; YaRN: Peng et al. 2023, arXiv:2309.00071
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

struct YarnScaling {
  double factor = 16;
  double beta_fast = 32;
  double beta_slow = 1;
  double original_positions = 65536;  // tokens
};

struct RopeParameters {
  std::int64_t dims = 64;  // rotated dims; even
  double base = 10000;
  std::optional<YarnScaling> yarn;
};

[[nodiscard]] std::vector<float> rope_frequencies(const RopeParameters& parameters);

struct RopeTableArgs {
  View<const std::int64_t, 1> positions;  // [rows], tokens from the start of the sequence
  View<const float, 1> frequencies;       // [dims / 2]
  View<float, 2> cos;                     // [rows, dims / 2]
  View<float, 2> sin;
};

[[nodiscard]] Status rope_table(const RopeTableArgs& args);

enum class RopeDirection : std::uint8_t { kForward, kInverse };

struct RotateArgs {
  View<Bf16, 3> x{nullptr, 0, 0, 0};  // in place
  View<const float, 2> cos{nullptr, 0, 0};
  View<const float, 2> sin{nullptr, 0, 0};
  RopeDirection direction = RopeDirection::kForward;
};

[[nodiscard]] Status rotate_limits(const RotateArgs& args);
[[nodiscard]] Status rotate_reference(const RotateArgs& args);
[[nodiscard]] Status rotate_cpu(const RotateArgs& args, Workers& workers);

}  // namespace deepinfer::kernels
