// The pooling: fast path against the reference, a group alone, the limits.
#include "kernels/compress/pool.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/kernels/kernel_data.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kGroups = 5;

// Rows of fp32 [n], four for each group.
std::vector<PoolGroup> groups_of(const std::vector<float>& rows, std::int64_t n) {
  std::vector<PoolGroup> groups;
  for (std::int64_t g = 0; g < kGroups; ++g) {
    const float* at = rows.data() + g * 4 * n;
    groups.push_back({.first_kv = at,
                      .first_score = at + n,
                      .second_kv = at + 2 * n,
                      .second_score = at + 3 * n});
  }
  return groups;
}

TEST(PoolCpu, IsNearTheReferenceAndGivesAGroupTheSameBitsAlone) {
  for (const std::int64_t n : {16, 64, 512}) {  // one vector, the tiny model, the released one
    const std::vector<float> rows = test::random_floats(kGroups * 4 * n, 30.0F, 8);
    const std::vector<PoolGroup> groups = groups_of(rows, n);
    std::vector<Bf16> together(static_cast<std::size_t>(kGroups * n));
    std::vector<Bf16> alone(together.size());
    std::vector<Bf16> expected(together.size());
    Workers one(1);
    Workers two(2);

    ASSERT_OK(pool_reference(
        {.groups = groups.data(), .pooled = View<Bf16, 2>(expected.data(), kGroups, n)}));
    ASSERT_OK(pool_cpu(
        {.groups = groups.data(), .pooled = View<Bf16, 2>(together.data(), kGroups, n)}, two));
    for (std::int64_t g = 0; g < kGroups; ++g) {
      ASSERT_OK(pool_cpu({.groups = &groups[static_cast<std::size_t>(g)],
                          .pooled = View<Bf16, 2>(alone.data() + g * n, 1, n)},
                         one));
    }

    test::expect_close(together, expected, {.ulps = 1.0F, .absolute = 6e-5F});
    EXPECT_TRUE(test::same_bits(together, alone));
  }
}

TEST(PoolLimits, RefuseRaggedRowsAndOpenGroups) {
  const std::vector<float> rows(kGroups * 4 * 16);
  std::vector<PoolGroup> groups = groups_of(rows, 16);
  std::vector<Bf16> pooled(kGroups * 16);
  Workers workers(1);
  const PoolArgs ragged{.groups = groups.data(), .pooled = View<Bf16, 2>(pooled.data(), 1, 8)};
  const PoolArgs open{.groups = groups.data(), .pooled = View<Bf16, 2>(pooled.data(), kGroups, 16)};
  groups[3].second_kv = nullptr;

  for (const PoolArgs& args : {ragged, open}) {
    EXPECT_FAILS(pool_cpu(args, workers), ErrorCode::kInvalidArgument);
    EXPECT_FAILS(pool_reference(args), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::kernels
