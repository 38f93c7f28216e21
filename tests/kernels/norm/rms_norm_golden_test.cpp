// rms_norm against golden/units.safetensors: rmsnorm (a zero row, 1e-18, 1e18; epsilon 1e-20).
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "kernels/norm/rms_norm.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

TEST(RmsNormGolden, RmsnormIsWithinOneBf16StepInBothEntryPoints) {
  const test::GoldenFile units(test::data_path("golden/units.safetensors"));
  const std::vector<Bf16> x = units.bf16("rmsnorm.x");
  const std::vector<Bf16> weight = units.bf16("rmsnorm.weight");
  const std::vector<Bf16> expected = units.bf16("rmsnorm.out");
  std::vector<Bf16> y(x.size());
  const RmsNormArgs args{View<const Bf16, 2>(x.data(), 8, 64),
                         View<const Bf16, 1>(weight.data(), 64), View<Bf16, 2>(y.data(), 8, 64),
                         1e-20F};
  Workers workers(2);

  for (const bool is_fast : {false, true}) {
    ASSERT_OK(is_fast ? rms_norm_cpu(args, workers) : rms_norm_reference(args));
    std::size_t differ = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const int distance = std::abs(y[i].bits - expected[i].bits);
      EXPECT_LE(distance, 1) << i;
      differ += distance == 0 ? 0 : 1;
    }
    EXPECT_LE(differ * 100, y.size());
  }
}

}  // namespace
}  // namespace deepinfer::kernels
