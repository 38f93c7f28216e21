// The fast CPU path of the pooling: channels across the lanes.
#include <cstddef>
#include <cstdint>

#include "kernels/compress/pool.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/compress/pool_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {
namespace {

void pool_group(const PoolGroup& group, std::int64_t n, Bf16* pooled) {
  const F32Tag d;
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(kLanes)) {
    const F32 first_score = hn::LoadU(d, group.first_score + i);
    const F32 second_score = hn::LoadU(d, group.second_score + i);
    const F32 largest = hn::Max(first_score, second_score);
    const F32 first = vector_exp(d, hn::Sub(first_score, largest));
    const F32 second = vector_exp(d, hn::Sub(second_score, largest));
    const F32 total = hn::Add(first, second);
    const F32 sum = hn::Add(hn::Mul(hn::Div(first, total), hn::LoadU(d, group.first_kv + i)),
                            hn::Mul(hn::Div(second, total), hn::LoadU(d, group.second_kv + i)));
    store_bf16(d, sum, pooled + i);
  }
}

}  // namespace
}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(pool_group);

}  // namespace

Status pool_cpu(const PoolArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, pool_limits(args));

  workers.for_ranges(args.pooled.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t group = begin; group < end; ++group) {
      HWY_DYNAMIC_DISPATCH(pool_group)
      (args.groups[group], args.pooled.extent(1), &args.pooled(group, 0));
    }
  });
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
