// The router and the experts against the official ones: gate, expert_fp4, expert_fp8 and
// expert_fp4_nolimit.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gemm/linear.h"
#include "kernels/moe/experts.h"
#include "kernels/moe/router.h"
#include "kernels/quant/activations.h"
#include "tests/kernels/kernel_data.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

using deepinfer::test::GoldenFile;

GoldenFile units() { return GoldenFile(deepinfer::test::data_path("golden/units.safetensors")); }

constexpr std::int64_t kRows = 40;
constexpr std::int64_t kGateExperts = 384;
constexpr std::int64_t kTop = 6;

// ids and weights of all rows of the gate golden under one bias.
struct Routes {
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
};

Routes route_golden(const GoldenFile& golden, const std::string& bias_name, bool is_fast) {
  const std::vector<float> x = golden.floats("gate.x");
  const std::vector<Bf16> weight = golden.bf16("gate.weight");
  const std::vector<float> bias = golden.floats(bias_name);
  std::vector<float> logits(kRows * kGateExperts);
  std::vector<std::int32_t> ids(kRows * kTop);
  Routes routes{.ids = {}, .weights = std::vector<float>(ids.size())};
  Workers workers(1);
  const Status projected = linear_reference({.x = View<const float, 2>(x.data(), kRows, 64),
                                             .weight = {.format = WeightFormat::kBf16,
                                                        .data = weight.data(),
                                                        .outputs = kGateExperts,
                                                        .cols = 64},
                                             .y_f32 = logits.data()});
  const RouteArgs args{.logits = View<const float, 2>(logits.data(), kRows, kGateExperts),
                       .bias = View<const float, 1>(bias.data(), kGateExperts),
                       .ids = View<std::int32_t, 2>(ids.data(), kRows, kTop),
                       .weights = View<float, 2>(routes.weights.data(), kRows, kTop)};
  const Status routed = is_fast ? route_cpu(args, workers) : route_reference(args);
  EXPECT_TRUE(projected.has_value() && routed.has_value());
  routes.ids.assign(ids.begin(), ids.end());
  return routes;
}

TEST(RouteGolden, GateChoosesTheOfficialExpertsOfTextAndImageRows) {
  const GoldenFile golden = units();
  const std::vector<std::int64_t> mask = golden.integers("gate.image_mask");
  for (const bool is_fast : {false, true}) {
    const Routes text = route_golden(golden, "gate.bias", is_fast);
    const Routes image = route_golden(golden, "gate.bias_vl", is_fast);

    EXPECT_EQ(text.ids, golden.integers("gate.ids"));
    test::expect_close(text.weights, golden.floats("gate.weights"), {.absolute = 2e-6F});
    Routes mixed = text;
    for (std::size_t i = 0; i < mixed.ids.size(); ++i) {
      if (mask[i / kTop] == 0) continue;
      mixed.ids[i] = image.ids[i];
      mixed.weights[i] = image.weights[i];
    }
    EXPECT_EQ(mixed.ids, golden.integers("gate.ids_vl"));
    test::expect_close(mixed.weights, golden.floats("gate.weights_vl"), {.absolute = 2e-6F});
  }
}

// The tensors of one expert golden.
struct ExpertGolden {
  ExpertGolden(const std::string& prefix, WeightFormat weight_format)
      : name(prefix), format(weight_format), golden(units()) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string weight = name + ".w" + std::to_string(i + 1);
      codes[i] = golden.bytes(weight + ".weight");
      scales[i] = golden.bytes(weight + ".scale");
    }
    const std::vector<Bf16> input = golden.bf16(name + ".x");
    x.resize(input.size());
    const Status status = quantize_activations_reference(
        {.x = View<const Bf16, 2>(input.data(), 12, 128), .y = View<float, 2>(x.data(), 12, 128)});
    EXPECT_TRUE(status.has_value());
  }

  [[nodiscard]] WeightMatrix matrix(std::size_t number, std::int64_t outputs,
                                    std::int64_t cols) const {
    return {.format = format,
            .data = codes[number - 1].data(),
            .scales = scales[number - 1].data(),
            .outputs = outputs,
            .cols = cols};
  }
  [[nodiscard]] ExpertWeights weights() const {
    return {.w1 = matrix(1, 96, 128), .w3 = matrix(3, 96, 128), .w2 = matrix(2, 128, 96)};
  }

  std::string name;
  WeightFormat format;
  GoldenFile golden;
  std::vector<std::uint8_t> codes[3];
  std::vector<std::uint8_t> scales[3];
  std::vector<float> x;
};

// gate and up, then h from the golden's own gate and up.
void expect_middle(const ExpertGolden& expert, float limit) {
  const View<const float, 2> x(expert.x.data(), 12, 128);
  std::vector<Bf16> gate(std::size_t{12} * 96);
  std::vector<Bf16> up(std::size_t{12} * 96);
  Workers workers(1);
  ASSERT_OK(linear_cpu({.x = x, .weight = expert.weights().w1, .y_bf16 = gate.data()}, workers));
  ASSERT_OK(linear_cpu({.x = x, .weight = expert.weights().w3, .y_bf16 = up.data()}, workers));
  test::expect_close(gate, expert.golden.floats(expert.name + ".gate"), {.ulps = 1.0F});
  test::expect_close(up, expert.golden.floats(expert.name + ".up"), {.ulps = 1.0F});

  const std::vector<float> weights = expert.golden.floats(expert.name + ".route_weight");
  gate = expert.golden.bf16(expert.name + ".gate");
  up = expert.golden.bf16(expert.name + ".up");
  std::vector<Bf16> h(gate.size());
  const SwigluArgs args{.gate = View<const Bf16, 2>(gate.data(), 12, 96),
                        .up = View<const Bf16, 2>(up.data(), 12, 96),
                        .weights = weights.data(),
                        .h = View<Bf16, 2>(h.data(), 12, 96),
                        .limit = limit};
  for (const bool is_fast : {false, true}) {
    ASSERT_OK(is_fast ? swiglu_cpu(args, workers) : swiglu_reference(args));
    test::expect_close(h, expert.golden.floats(expert.name + ".h"), {.ulps = 1.0F});
  }
}

// The whole expert, as the only routed one and as the shared one.
void expect_outputs(const ExpertGolden& expert, float limit) {
  const ExpertWeights weights = expert.weights();
  const std::vector<float> route_weights = expert.golden.floats(expert.name + ".route_weight");
  const std::vector<std::int32_t> ids(12, 0);
  std::vector<Bf16> y(std::size_t{12} * 128);
  Workers workers(2);
  Scratch scratch;
  ExpertsArgs routed{.x = View<const float, 2>(expert.x.data(), 12, 128),
                     .ids = View<const std::int32_t, 2>(ids.data(), 12, 1),
                     .weights = View<const float, 2>(route_weights.data(), 12, 1),
                     .experts = {&weights, 1},
                     .y = View<Bf16, 2>(y.data(), 12, 128),
                     .limit = limit};
  ExpertsArgs shared = routed;
  shared.ids = View<const std::int32_t, 2>(ids.data(), 12, 0);
  shared.weights = View<const float, 2>(route_weights.data(), 12, 0);
  shared.shared = &weights;
  for (const bool is_fast : {false, true}) {
    ASSERT_OK(is_fast ? experts_cpu(routed, workers, scratch) : experts_reference(routed));
    test::expect_close(y, expert.golden.floats(expert.name + ".out"), {.ulps = 1.0F});
    ASSERT_OK(is_fast ? experts_cpu(shared, workers, scratch) : experts_reference(shared));
    test::expect_close(y, expert.golden.floats(expert.name + ".out_unweighted"), {.ulps = 1.0F});
  }
}

TEST(ExpertsGolden, ExpertFp4) {
  const ExpertGolden expert("expert_fp4", WeightFormat::kFp4Group32);
  expect_middle(expert, 10.0F);
  expect_outputs(expert, 10.0F);
}

TEST(ExpertsGolden, ExpertFp4NolimitHasNoClamp) {
  const ExpertGolden expert("expert_fp4_nolimit", WeightFormat::kFp4Group32);
  expect_middle(expert, 0.0F);
  expect_outputs(expert, 0.0F);
}

TEST(ExpertsGolden, ExpertFp8) {
  const ExpertGolden expert("expert_fp8", WeightFormat::kFp8Block32);
  expect_middle(expert, 10.0F);
  expect_outputs(expert, 10.0F);
}

}  // namespace
}  // namespace deepinfer::kernels
