// linear against the GEMMs of golden/units.safetensors and golden/real_shapes.safetensors: fp32 sums
// within 5e-7 of the sum of magnitudes, bf16 results equal to the exact sum rounded on 99 % of the
// places and one step off elsewhere.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/gemm/linear.h"
#include "kernels/quant/activations.h"
#include "tests/kernels/gemm/linear_cases.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

struct GemmGolden {
  std::string file;
  std::string name;
  WeightFormat format;
};

class LinearGolden : public testing::TestWithParam<GemmGolden> {
 protected:
  LinearGolden() : file_(deepinfer::test::data_path("golden/" + GetParam().file + ".safetensors")) {
    const std::string& name = GetParam().name;
    data_ = file_.bytes(name + ".b");
    scales_ = file_.bytes(name + ".b_s");
    rows_ = file_.shape(name + ".a")[0];
    cols_ = file_.shape(name + ".a")[1];
    weight_ = {GetParam().format, data_.data(), scales_.data(), file_.shape(name + ".b")[0], cols_};
    const auto codes = file_.bytes(name + ".a");
    const auto scales = file_.bytes(name + ".a_s");
    for (std::size_t i = 0; i < codes.size(); ++i) {
      x_.push_back(e4m3_to_float(codes[i]) * e8m0_to_float(scales[i / 32]));
    }
  }

  deepinfer::test::GoldenFile file_;
  std::vector<std::uint8_t> data_;
  std::vector<std::uint8_t> scales_;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  WeightMatrix weight_;
  std::vector<float> x_;
};

TEST_P(LinearGolden, Fp32SumsAreWithinTheTolerance) {
  const std::string& name = GetParam().name;
  const auto exact = file_.doubles(name + ".exact");
  const auto out = file_.floats(name + ".out_fp32");
  const auto sum_abs = file_.floats(name + ".sum_abs");
  Workers workers(2);
  std::vector<float> reference;
  std::vector<float> fast;

  ASSERT_OK(linear_reference(test::make_args(x_, weight_, reference)));
  ASSERT_OK(linear_cpu(test::make_args(x_, weight_, fast), workers));

  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(reference[i], exact[i], 5e-7 * sum_abs[i]);
    EXPECT_NEAR(fast[i], exact[i], 5e-7 * sum_abs[i]);
    EXPECT_NEAR(fast[i], out[i], 5e-7 * sum_abs[i]);
  }
}

TEST_P(LinearGolden, Bf16ResultsAreTheExactSumsRounded) {
  const auto exact = file_.doubles(GetParam().name + ".exact");
  Workers workers(2);
  std::vector<float> unused;
  std::vector<Bf16> y(exact.size());
  LinearArgs args = test::make_args(x_, weight_, unused);
  args.y_f32 = nullptr;
  args.y_bf16 = y.data();

  for (const bool is_fast : {false, true}) {
    ASSERT_OK(is_fast ? linear_cpu(args, workers) : linear_reference(args));
    std::size_t differ = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const int distance = std::abs(y[i].bits - to_bf16(static_cast<float>(exact[i])).bits);
      EXPECT_LE(distance, 1);
      differ += distance == 0 ? 0 : 1;
    }
    EXPECT_LE(differ * 100, exact.size());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, LinearGolden,
    testing::Values(GemmGolden{"units", "fp8_gemm", WeightFormat::kFp8Block32},
                    GemmGolden{"units", "fp4_gemm", WeightFormat::kFp4Group32},
                    GemmGolden{"real_shapes", "fp8_gemm_k5120", WeightFormat::kFp8Block32},
                    GemmGolden{"real_shapes", "fp4_gemm_k5120", WeightFormat::kFp4Group32}),
    [](const auto& test_case) { return test_case.param.name; });

TEST(RealShapesGolden, XQuantizesToTheOperandsOfBothGemms) {
  const deepinfer::test::GoldenFile file(
      deepinfer::test::data_path("golden/real_shapes.safetensors"));
  const std::vector<Bf16> x = file.bf16("x");
  std::vector<float> y(x.size());
  Workers workers(2);

  ASSERT_OK(quantize_activations_cpu(
      {View<const Bf16, 2>(x.data(), 4, 5120), View<float, 2>(y.data(), 4, 5120)}, workers));

  for (const std::string name : {"fp8_gemm_k5120", "fp4_gemm_k5120"}) {
    const auto codes = file.bytes(name + ".a");
    const auto scales = file.bytes(name + ".a_s");
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], e4m3_to_float(codes[i]) * e8m0_to_float(scales[i / 32])) << name << " " << i;
    }
  }
}

}  // namespace
}  // namespace deepinfer::kernels
