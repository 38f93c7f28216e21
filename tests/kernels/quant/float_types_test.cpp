// The conversions of kernels/float_types.h, over all codes.
#include "kernels/float_types.h"

#include <gtest/gtest.h>

#include <cmath>

namespace deepinfer::kernels {
namespace {

TEST(E4m3, EveryFiniteCodeSurvivesTheRoundTrip) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    if ((byte & 0x7fU) == kE4m3Nan) {
      EXPECT_TRUE(std::isnan(e4m3_to_float(byte)));
    } else {
      EXPECT_EQ(to_e4m3(e4m3_to_float(byte)), byte);
    }
  }
}

TEST(E4m3, HasTheValuesOfTheSpecification) {
  EXPECT_EQ(e4m3_to_float(0x7e), 448.0F);
  EXPECT_EQ(e4m3_to_float(0x01), 0x1p-9F);
  EXPECT_EQ(e4m3_to_float(0x08), 0x1p-6F);
  EXPECT_EQ(e4m3_to_float(0xb8), -1.0F);
}

TEST(E4m3, RoundsMidpointsToTheEvenCodeAndSaturates) {
  for (std::uint8_t code = 0; code < 0x7e; ++code) {
    const auto next = static_cast<std::uint8_t>(code + 1);
    const float middle = 0.5F * (e4m3_to_float(code) + e4m3_to_float(next));
    EXPECT_EQ(to_e4m3(middle), code % 2 == 0 ? code : next);
    EXPECT_EQ(to_e4m3(-std::nextafter(middle, 0.0F)), code | 0x80);
    EXPECT_EQ(to_e4m3(std::nextafter(middle, 500.0F)), next);
  }
  EXPECT_EQ(to_e4m3(1e30F), 0x7e);
}

TEST(E2m1, RoundsAsTheThresholdsOfTheSpecificationSay) {
  const float thresholds[] = {0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F};
  for (std::uint8_t code = 0; code < 7; ++code) {
    const auto next = static_cast<std::uint8_t>(code + 1);
    const float middle = thresholds[code];
    EXPECT_EQ(to_e2m1(middle), code % 2 == 0 ? code : next);
    EXPECT_EQ(to_e2m1(std::nextafter(middle, 0.0F)), code);
    EXPECT_EQ(to_e2m1(-std::nextafter(middle, 9.0F)), next | 8);
  }
  for (std::uint8_t code = 0; code < 16; ++code) EXPECT_EQ(to_e2m1(e2m1_to_float(code)), code);
  EXPECT_EQ(to_e2m1(100.0F), 7);
}

TEST(E8m0, IsAPowerOfTwoForEveryByteAndNanFor255) {
  for (int byte = 0; byte < 255; ++byte) {
    EXPECT_EQ(e8m0_to_float(static_cast<std::uint8_t>(byte)), std::ldexp(1.0F, byte - 127));
  }
  EXPECT_TRUE(std::isnan(e8m0_to_float(kE8m0Nan)));
}

TEST(E8m0, CeilingIsTheNextPowerOfTwo) {
  EXPECT_EQ(e8m0_ceil(1.0F), 127);
  EXPECT_EQ(e8m0_ceil(std::nextafter(1.0F, 2.0F)), 128);
  EXPECT_EQ(e8m0_ceil(0.75F), 127);
  EXPECT_EQ(e8m0_ceil(INFINITY), kE8m0Nan);
  EXPECT_EQ(e8m0_ceil(NAN), kE8m0Nan);
}

}  // namespace
}  // namespace deepinfer::kernels
