// The pooling of the ratio-2 compressor: two tokens become one latent before its norm.
//
//   weights = softmax over the two scores, per channel;  pooled = bf16(sum weight * kv)
//
// Shapes:   for each of the groups, the fp32 kv and score rows [n] of its first and second token, as
//           pointers, since an open group's first row may lie in the sequence's state; pooled
//           [groups, n] bf16
// Limits:   n % 16 == 0; no pointer is null
// Numerics: fp32, one rounding; within 2e-6 relative of the fp64 reference before the rounding
// Batch:    row-pure. Errors: kInvalidArgument when a limit is broken
// Source:   spec/model.md 5.7
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

struct PoolGroup {
  const float* first_kv;
  const float* first_score;
  const float* second_kv;
  const float* second_score;
};

struct PoolArgs {
  const PoolGroup* groups = nullptr;  // [groups]
  View<Bf16, 2> pooled;
};

[[nodiscard]] Status pool_limits(const PoolArgs& args);
[[nodiscard]] Status pool_reference(const PoolArgs& args);
[[nodiscard]] Status pool_cpu(const PoolArgs& args, Workers& workers);

}  // namespace deepinfer::kernels
