// The limits of the pooling, and its definition in plain C++.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/compress/pool.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kVector = 16;  // elements

}  // namespace

Status pool_limits(const PoolArgs& args) {
  const std::int64_t n = args.pooled.extent(1);
  if (n <= 0 || n % kVector != 0) {
    return fail(ErrorCode::kInvalidArgument, "pool: n is " + std::to_string(n));
  }
  for (std::int64_t g = 0; g < args.pooled.extent(0); ++g) {
    const PoolGroup& group = args.groups[g];
    if (group.first_kv == nullptr || group.first_score == nullptr || group.second_kv == nullptr ||
        group.second_score == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "pool: group " + std::to_string(g) + " is open");
    }
  }
  return Done{};
}

Status pool_reference(const PoolArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, pool_limits(args));

  for (std::int64_t g = 0; g < args.pooled.extent(0); ++g) {
    const PoolGroup& group = args.groups[g];
    for (std::int64_t i = 0; i < args.pooled.extent(1); ++i) {
      const double largest = std::max(group.first_score[i], group.second_score[i]);
      const double first = std::exp(static_cast<double>(group.first_score[i]) - largest);
      const double second = std::exp(static_cast<double>(group.second_score[i]) - largest);
      const double sum = first * static_cast<double>(group.first_kv[i]) +
                         second * static_cast<double>(group.second_kv[i]);
      args.pooled(g, i) = to_bf16(static_cast<float>(sum / (first + second)));
    }
  }
  return Done{};
}

}  // namespace deepinfer::kernels
