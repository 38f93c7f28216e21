// Manifold-constrained hyper-connections: the coefficients of a sub-block, the collapse of the
// stream into its input, and the update of the stream with its output.
//
//   u = flatten(h), r = rsqrt(mean(u^2) + norm_epsilon), m = (fn . u) * r
//   pre = sigmoid(m0 scale0 + base) + eps; post = 2 sigmoid(m1 scale1 + base)
//   comb = softmax over k of (m2 scale2 + base) + eps, then Sinkhorn: columns first, `iterations`
//   column and iterations - 1 row normalisations, every divisor + eps
//   collapse: x = bf16(sum_c pre[c] h[c])
//   update:   h'[k] = bf16(post[k] y + sum_j comb[j][k] h[j])        j source copy, k destination
//
// Shapes:   h [rows, copies, hidden] bf16; fn [(2 + copies) * copies, copies * hidden] f32;
//           base [(2 + copies) * copies]; scale [3]; pre, post [rows, copies];
//           comb [rows, copies, copies]; x, y [rows, hidden] bf16
// Limits:   copies == 4; hidden % 16 == 0
// Numerics: fp32; fn . u in the 16-partial-sum order of linear.h, the sum of squares likewise.
//           coefficients within 2e-6 (comb 1e-5) of the fp64 reference for equal m.
// Batch:    row-pure. Threads: parallel over rows. Errors: kInvalidArgument when a limit is broken
// Source:   spec/model.md 5.4
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

struct MixSplit {
  View<const float, 2> mixes;  // m, [rows, 24]
  View<const float, 1> scale;
  View<const float, 1> base;
  View<float, 2> pre;
  View<float, 2> post;
  View<float, 3> comb;
  std::int64_t iterations = 20;
  float epsilon = 1e-6F;
};

// From m to pre, post, comb.
[[nodiscard]] Status mix_split_limits(const MixSplit& args);
[[nodiscard]] Status mix_split_reference(const MixSplit& args);
[[nodiscard]] Status mix_split_cpu(const MixSplit& args, Workers& workers);

struct MixArgs {
  View<const Bf16, 3> h;
  View<const float, 2> fn;
  View<const float, 1> scale;
  View<const float, 1> base;
  View<float, 2> pre;
  View<float, 2> post;
  View<float, 3> comb;
  std::int64_t iterations = 20;
  float epsilon = 1e-6F;        // hc_eps
  float norm_epsilon = 1e-20F;  // of r
};

// From the stream to pre, post, comb.
[[nodiscard]] Status mix_limits(const MixArgs& args);
[[nodiscard]] Status mix_reference(const MixArgs& args);
[[nodiscard]] Status mix_cpu(const MixArgs& args, Workers& workers);

struct CollapseArgs {
  View<const Bf16, 3> h;
  View<const float, 2> pre;
  View<Bf16, 2> x;
};
[[nodiscard]] Status collapse_limits(const CollapseArgs& args);
[[nodiscard]] Status collapse_reference(const CollapseArgs& args);
[[nodiscard]] Status collapse_cpu(const CollapseArgs& args, Workers& workers);

struct StreamUpdateArgs {
  View<Bf16, 3> h;  // in place
  View<const Bf16, 2> y;
  View<const float, 2> post;
  View<const float, 3> comb;
};
[[nodiscard]] Status stream_update_limits(const StreamUpdateArgs& args);
[[nodiscard]] Status stream_update_reference(const StreamUpdateArgs& args);
[[nodiscard]] Status stream_update_cpu(const StreamUpdateArgs& args, Workers& workers);

}  // namespace deepinfer::kernels
