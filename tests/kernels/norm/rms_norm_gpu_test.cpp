// rms_norm on the device against rms_norm_reference on the host, and a row alone against the same row
// in a batch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/norm/rms_norm.h"
#include "tests/kernels/norm/rms_norm_cases.h"
#include "tests/support/device_buffer.h"

namespace deepinfer::kernels {
namespace {

using deepinfer::test::DeviceBuffer;
using deepinfer::test::require;
using test::make_args;
using test::random_values;
using test::Shape;

constexpr float kOneBf16Step = 0x1p-7F;  // relative; see "Numerics" in rms_norm.h

std::vector<Bf16> run_on_device(Shape shape, const std::vector<Bf16>& x,
                                const std::vector<Bf16>& weight) {
  const DeviceBuffer device_x(x);
  const DeviceBuffer device_weight(weight);
  const DeviceBuffer device_y(std::vector<Bf16>(x.size()));
  EXPECT_TRUE(
      rms_norm(make_args(shape, device_x.data(), device_weight.data(), device_y.data()), Stream{})
          .has_value());
  require(cudaDeviceSynchronize());
  return device_y.download();
}

class RmsNormOnDevice : public testing::TestWithParam<Shape> {};

TEST_P(RmsNormOnDevice, AgreesWithTheReference) {
  const Shape shape = GetParam();
  const auto x = random_values(shape.rows * shape.hidden, 1);
  const auto weight = random_values(shape.hidden, 2);
  std::vector<Bf16> expected(x.size());
  ASSERT_TRUE(
      rms_norm_reference(make_args(shape, x.data(), weight.data(), expected.data())).has_value());

  const auto actual = run_on_device(shape, x, weight);

  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float want = to_float(expected[i]);
    const float got = to_float(actual[i]);
    ASSERT_LE(std::abs(got - want), kOneBf16Step * std::abs(want)) << "at element " << i;
  }
}

// One row; fewer packs than threads; one pack per thread; a ragged last step; a full prefill step.
INSTANTIATE_TEST_SUITE_P(Shapes, RmsNormOnDevice,
                         testing::Values(Shape{1, 8}, Shape{3, 512}, Shape{2, 2048}, Shape{5, 5120},
                                         Shape{4096, 5120}),
                         [](const testing::TestParamInfo<Shape>& test) {
                           return std::to_string(test.param.rows) + "x" +
                                  std::to_string(test.param.hidden);
                         });

TEST(RmsNormBatch, GivesARowTheSameBitsAloneAndAmongOthers) {
  const Shape batch{37, 5120};
  const std::int64_t row = 23;
  const auto x = random_values(batch.rows * batch.hidden, 3);
  const auto weight = random_values(batch.hidden, 4);
  const auto first = x.begin() + row * batch.hidden;
  const std::vector<Bf16> alone(first, first + batch.hidden);

  const auto among_others = run_on_device(batch, x, weight);
  const auto by_itself = run_on_device({1, batch.hidden}, alone, weight);

  const auto* same_row = among_others.data() + row * batch.hidden;
  EXPECT_EQ(std::memcmp(same_row, by_itself.data(), by_itself.size() * sizeof(by_itself[0])), 0);
}

}  // namespace
}  // namespace deepinfer::kernels
