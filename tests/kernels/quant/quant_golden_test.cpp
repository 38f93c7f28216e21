// The quantisers against golden/units.safetensors: codes, scales and the values they stand for, equal.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/quant/activations.h"
#include "kernels/quant/cache_formats.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

const test::GoldenFile& units() {
  static const test::GoldenFile file(test::data_path("golden/units.safetensors"));
  return file;
}

std::vector<std::uint16_t> bits_of_bf16(const std::vector<Bf16>& values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const Bf16 value : values) bits.push_back(value.bits);
  return bits;
}

std::vector<std::uint16_t> rounded_bits(const std::vector<float>& values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(to_bf16(value).bits);
  return bits;
}

TEST(QuantGolden, ActQuantValuesEqualCodesTimesScalesInBothEntryPoints) {
  const std::vector<Bf16> x = units().bf16("act_quant.x");
  const auto codes = units().bytes("act_quant.q");
  const auto scales = units().bytes("act_quant.s");
  const std::int64_t rows = units().shape("act_quant.x")[0];
  const std::int64_t n = units().shape("act_quant.x")[1];
  std::vector<float> expected;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    expected.push_back(e4m3_to_float(codes[i]) * e8m0_to_float(scales[i / 32]));
  }
  std::vector<float> reference(x.size());
  std::vector<float> fast(x.size());
  const View<const Bf16, 2> view(x.data(), rows, n);
  Workers workers(2);

  ASSERT_OK(quantize_activations_reference({view, View<float, 2>(reference.data(), rows, n)}));
  ASSERT_OK(quantize_activations_cpu({view, View<float, 2>(fast.data(), rows, n)}, workers));

  EXPECT_EQ(reference, expected);
  EXPECT_EQ(fast, expected);
  EXPECT_EQ(rounded_bits(reference), bits_of_bf16(units().bf16("act_quant.inplace")));
  EXPECT_EQ(rounded_bits(fast), bits_of_bf16(units().bf16("act_quant.inplace")));
}

struct FormatGolden {
  std::string name;
  CacheFormat format;
};

class CacheFormatGolden : public testing::TestWithParam<FormatGolden> {};

TEST_P(CacheFormatGolden, CodesScalesAndValuesEqualInBothEntryPoints) {
  const auto& [name, format] = GetParam();
  const std::vector<Bf16> x = units().bf16(name + ".x");
  const std::vector<std::uint8_t> codes = units().bytes(name + ".q");
  const std::vector<std::uint8_t> scales = units().bytes(name + ".s");
  const std::int64_t rows = units().shape(name + ".x")[0];
  const std::int64_t n = units().shape(name + ".x")[1];
  const std::int64_t bytes = row_bytes(format, n);
  const std::int64_t split = code_bytes(format, n);
  std::vector<std::uint8_t> expected;
  for (std::int64_t row = 0; row < rows; ++row) {
    expected.insert(expected.end(), codes.begin() + row * split, codes.begin() + (row + 1) * split);
    const std::int64_t groups = bytes - split;
    expected.insert(expected.end(), scales.begin() + row * groups,
                    scales.begin() + (row + 1) * groups);
  }
  std::vector<std::uint8_t> reference(expected.size());
  std::vector<std::uint8_t> fast(expected.size());
  const View<const Bf16, 2> values(x.data(), rows, n);

  ASSERT_TRUE(
      pack_reference({format, values, View<std::uint8_t, 2>(reference.data(), rows, bytes)}));
  ASSERT_OK(pack_cpu({format, values, View<std::uint8_t, 2>(fast.data(), rows, bytes)}));

  EXPECT_EQ(reference, expected);
  EXPECT_EQ(fast, expected);
  std::vector<float> unpacked(x.size());
  for (const auto unpack : {unpack_row_reference, unpack_row_cpu}) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint8_t* packed = expected.data() + row * bytes;
      unpack({format, packed, packed + split, n, unpacked.data() + row * n});
    }
    EXPECT_EQ(unpacked, units().floats(name + ".inplace"));  // exact: every value is a bf16
  }
}

INSTANTIATE_TEST_SUITE_P(Units, CacheFormatGolden,
                         testing::Values(FormatGolden{"act_quant", CacheFormat::kFp8E8m0},
                                         FormatGolden{"fp4_e8m0", CacheFormat::kFp4E8m0},
                                         FormatGolden{"fp4_e4m3", CacheFormat::kFp4E4m3}),
                         [](const auto& test_case) { return test_case.param.name; });

}  // namespace
}  // namespace deepinfer::kernels
