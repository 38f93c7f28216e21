// The cache formats: both entry points give the same bytes and numbers on every instruction set; the
// sizes of the specification; limits; values that are not finite.
#include "kernels/quant/cache_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/highway_targets.h"
#include "tests/kernels/quant/quant_cases.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

constexpr CacheFormat kFormats[] = {CacheFormat::kFp8E8m0, CacheFormat::kFp4E4m3,
                                    CacheFormat::kFp4E8m0};

PackArgs make_args(CacheFormat format, const std::vector<Bf16>& values,
                   std::vector<std::uint8_t>& packed, std::int64_t rows) {
  const auto n = static_cast<std::int64_t>(values.size()) / rows;
  packed.assign(static_cast<std::size_t>(rows * row_bytes(format, n)), 0);
  return {format, View<const Bf16, 2>(values.data(), rows, n),
          View<std::uint8_t, 2>(packed.data(), rows, row_bytes(format, n))};
}

TEST(CacheFormats, HaveTheRowSizesOfTheSpecification) {
  EXPECT_EQ(row_bytes(CacheFormat::kFp8E8m0, 512), 528);
  EXPECT_EQ(row_bytes(CacheFormat::kFp4E4m3, 512), 288);
  EXPECT_EQ(row_bytes(CacheFormat::kFp4E8m0, 128), 68);
}

TEST(CacheFormats, FastPathHasTheReferenceBytesAndNumbersOnEveryInstructionSet) {
  for (const CacheFormat format : kFormats) {
    // One group, an odd number of groups of 16, a real row.
    for (const std::int64_t n : {group_size(format), 3 * group_size(format), std::int64_t{512}}) {
      const std::vector<Bf16> values = test::wide_values(40 * n, 11);
      std::vector<std::uint8_t> expected;
      ASSERT_OK(pack_reference(make_args(format, values, expected, 40)));
      const UnpackRow row{format, expected.data(), expected.data() + code_bytes(format, n), n,
                          nullptr};
      std::vector<float> numbers(static_cast<std::size_t>(n));
      UnpackRow reference = row;
      reference.unpacked = numbers.data();
      unpack_row_reference(reference);
      deepinfer::test::for_each_highway_target([&](std::int64_t target) {
        std::vector<std::uint8_t> packed;
        ASSERT_OK(pack_cpu(make_args(format, values, packed, 40)));
        EXPECT_EQ(packed, expected) << hwy::TargetName(target);
        std::vector<float> unpacked(static_cast<std::size_t>(n));
        UnpackRow fast = row;
        fast.unpacked = unpacked.data();
        unpack_row_cpu(fast);
        EXPECT_EQ(unpacked, numbers) << hwy::TargetName(target);
      });
    }
  }
}

TEST(CacheFormats, EveryCodeReadsAlikeInBothEntryPoints) {
  std::vector<std::uint8_t> codes(256);
  for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
  const std::vector<std::uint8_t> scales(32, 120);
  for (const CacheFormat format : kFormats) {
    const std::int64_t n = format == CacheFormat::kFp8E8m0 ? 256 : 512;
    std::vector<float> reference(static_cast<std::size_t>(n));
    unpack_row_reference({format, codes.data(), scales.data(), n, reference.data()});
    deepinfer::test::for_each_highway_target([&](std::int64_t target) {
      std::vector<float> fast(static_cast<std::size_t>(n));
      unpack_row_cpu({format, codes.data(), scales.data(), n, fast.data()});
      for (std::size_t i = 0; i < fast.size(); ++i) {
        if (std::isnan(reference[i])) {
          EXPECT_TRUE(std::isnan(fast[i])) << hwy::TargetName(target) << " " << i;
        } else {
          EXPECT_EQ(fast[i], reference[i]) << hwy::TargetName(target) << " " << i;
        }
      }
    });
  }
}

TEST(CacheFormats, AGroupWithAValueThatIsNotFiniteReadsAsNan) {
  for (const CacheFormat format : kFormats) {
    for (const float bad : {NAN, -INFINITY}) {
      std::vector<Bf16> values(64, to_bf16(1.0F));
      values[3] = to_bf16(bad);
      std::vector<std::uint8_t> reference;
      std::vector<std::uint8_t> fast;

      ASSERT_OK(pack_reference(make_args(format, values, reference, 1)));
      ASSERT_OK(pack_cpu(make_args(format, values, fast, 1)));

      EXPECT_EQ(fast, reference);
      float unpacked[64];
      unpack_row_cpu({format, fast.data(), fast.data() + code_bytes(format, 64), 64, unpacked});
      for (std::int64_t i = 0; i < 64; ++i) {
        EXPECT_EQ(std::isnan(unpacked[i]), i < group_size(format));
      }
    }
  }
}

TEST(CacheFormats, RefuseBrokenLimits) {
  const Bf16 values[64] = {};
  std::uint8_t packed[128] = {};
  const auto refused = [&](CacheFormat format, std::int64_t rows, std::int64_t n,
                           std::int64_t bytes) {
    const PackArgs args{format, View<const Bf16, 2>(values, rows, n),
                        View<std::uint8_t, 2>(packed, rows, bytes)};
    const Status status = pack_cpu(args);
    return !status && status.error().code == ErrorCode::kInvalidArgument && !pack_reference(args);
  };

  EXPECT_TRUE(refused(CacheFormat::kFp8E8m0, 1, 48, 49));
  EXPECT_TRUE(refused(CacheFormat::kFp4E4m3, 1, 24, 13));
  EXPECT_TRUE(refused(CacheFormat::kFp4E8m0, 1, 0, 0));
  EXPECT_TRUE(refused(CacheFormat::kFp4E8m0, -1, 32, 17));
  EXPECT_TRUE(refused(CacheFormat::kFp4E8m0, 1, 32, 18));
  EXPECT_FALSE(refused(CacheFormat::kFp4E4m3, 1, 48, 27));
}

}  // namespace
}  // namespace deepinfer::kernels
