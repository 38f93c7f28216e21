#include "config/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace deepinfer::config {
namespace {

constexpr std::array<std::string_view, 4> kNames{"temperature", "top_p", "top_k", "n"};

TEST(Nearest, FindsTheNameThatATypoMeant) {
  EXPECT_EQ(nearest("temprature", kNames), "temperature");
  EXPECT_EQ(nearest("topp", kNames), "top_p");
}

TEST(Nearest, SuggestsNothingForAStranger) {
  EXPECT_EQ(nearest("colour", kNames), "");
  EXPECT_EQ(nearest("xy", kNames), "");
}

TEST(Nearest, DoesNotWorkOnHostileLengths) {
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kNames), "");
}

}  // namespace
}  // namespace deepinfer::config
