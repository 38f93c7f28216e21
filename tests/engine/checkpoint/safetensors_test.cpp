// read_safetensors_header: every way in which a header can be wrong, and what sound ones give.
#include "engine/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/checkpoint/small_file.h"

namespace deepinfer::engine {
namespace {

using test::length_bytes;
using test::small_file;
using test::text_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SafetensorsHeader read(const std::string& file) {
  return read_safetensors_header({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()},
                                 "m.safetensors");
}

// One entry with the name "a" and the given rest.
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  const std::string file = small_file(
      R"({"b":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]}}   )",
      16);

  const SafetensorsHeader header = read(file);

  EXPECT_TRUE(header.problems.empty()) << text_of(header.problems);
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0].name, "b");
  EXPECT_EQ(header.tensors[1].name, "a");
  EXPECT_EQ(header.tensors[1].type, StoredType::kBf16);
  EXPECT_THAT(header.tensors[1].shape, ElementsAre(2, 3));
  EXPECT_EQ(header.tensors[1].bytes, 12);
  const auto* end = reinterpret_cast<const std::uint8_t*>(file.data()) + file.size();
  EXPECT_EQ(header.tensors[1].data + 12, end);
}

TEST(Safetensors, AcceptsEmptyTensorsAndScalars) {
  const SafetensorsHeader header =
      read(small_file(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]}})",
                      4));

  EXPECT_TRUE(header.problems.empty()) << text_of(header.problems);
  EXPECT_EQ(header.tensors.size(), 2U);
}

struct BadFile {
  const char* name;
  std::string file;
  const char* says;
};

std::vector<BadFile> bad_files() {
  const std::string sound = entry(R"("I8")", "[4]", "[0,4]");
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"I8","shape":[4],"data_offsets":)" + first +
           R"(},"b":{"dtype":"I8","shape":[4],"data_offsets":)" + second + "}}";
  };
  const std::string deep =
      R"({"__metadata__":)" + std::string(80, '[') + std::string(80, ']') + "}";
  return {
      {"Empty", "", "not even the 8 of a header length"},
      {"Short", "abc", "not even the 8 of a header length"},
      {"LengthZero", length_bytes(0) + sound, "header length is 0"},
      {"LengthPastEnd", length_bytes(1000) + sound, "reaches past the end of the file"},
      {"LengthOverLimit", length_bytes(100'000'001), "over the format's limit"},
      {"LengthTwoTo63", length_bytes(1ULL << 63U) + sound, "9223372036854775808 is over"},
      {"LengthAllOnes", length_bytes(~0ULL) + sound, "over the format's limit"},
      {"NotJson", small_file("{\"a\": nonsense}", 4), "not valid JSON at byte"},
      {"CutJson", small_file(sound.substr(0, sound.size() - 1), 4), "not valid JSON"},
      {"NotUtf8", small_file("{\"\xff\":1}", 0), "not valid JSON"},
      {"TooDeep", small_file(deep, 0), "nested deeper than 64"},
      {"Array", small_file("[1]", 0), "does not begin with '{'"},
      {"LeadingSpace", small_file(" " + sound, 4), "does not begin with '{'"},
      {"BadMetadata", small_file(R"({"__metadata__":{"a":1}})", 0), "an object of strings"},
      {"DuplicateName",
       small_file(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},)"
                  R"("a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})",
                  4),
       "the name \"a\" twice"},
      {"EntryNoObject", small_file(R"({"a":[]})", 0), "must hold dtype, shape and data_offsets"},
      {"EntryLacksShape", small_file(R"({"a":{"dtype":"I8","data_offsets":[0,4]}})", 4),
       "must hold dtype, shape and data_offsets"},
      {"UnknownType", small_file(entry(R"("F13")", "[4]", "[0,4]"), 4), "unknown dtype \"F13\""},
      {"TypeNoString", small_file(entry("7", "[4]", "[0,4]"), 4), "unknown dtype 7"},
      {"NegativeShape", small_file(entry(R"("I8")", "[-4]", "[0,4]"), 4), "got [-4]"},
      {"FractionalShape", small_file(entry(R"("I8")", "[4.0]", "[0,4]"), 4), "got [4.0]"},
      {"ShapeTwoTo63", small_file(entry(R"("I8")", "[9223372036854775808]", "[0,4]"), 4),
       "from 0 to 2^63 - 1"},
      {"ShapeNoList", small_file(entry(R"("I8")", "4", "[0,4]"), 4), "shape must be"},
      {"RankTooHigh", small_file(entry(R"("I8")", "[1,1,1,1,1,1,1,1,4]", "[0,4]"), 4),
       "shape must be up to 8"},
      {"ProductOverflows", small_file(entry(R"("F32")", "[4294967296,4294967296]", "[0,4]"), 4),
       "needs more than 2^63 bytes"},
      {"ElementsOverflowInBytes",
       small_file(entry(R"("F32")", "[4611686018427387904]", "[0,4]"), 4), "more than 2^63 bytes"},
      {"SizeDiffers", small_file(entry(R"("F32")", "[4]", "[0,4]"), 4),
       "needs 16 bytes, data_offsets has 4"},
      {"OffsetsPastEnd", small_file(entry(R"("I8")", "[4]", "[0,4]"), 3), "reach past the end"},
      {"OffsetsTwoTo63", small_file(entry(R"("I8")", "[4]", "[9223372036854775808,4]"), 4),
       "data_offsets must be two whole numbers"},
      {"OffsetsHuge", small_file(entry(R"("I8")", "[4]", "[0,1e999]"), 4), "not valid JSON"},
      {"OffsetsReversed", small_file(entry(R"("I8")", "[4]", "[4,0]"), 4), "end before they begin"},
      {"OffsetsNegative", small_file(entry(R"("I8")", "[4]", "[-4,0]"), 4),
       "data_offsets must be two whole numbers"},
      {"OffsetsThree", small_file(entry(R"("I8")", "[4]", "[0,4,8]"), 8),
       "data_offsets must be two whole numbers"},
      {"Overlap", small_file(two("[0,4]", "[2,6]"), 6), "overlap those of a"},
      {"SameBytes", small_file(two("[0,4]", "[0,4]"), 4), "overlap those of a"},
      {"HoleAtStart", small_file(two("[2,6]", "[6,10]"), 10),
       "2 bytes between the header and a belong to no tensor"},
      {"HoleBetween", small_file(two("[0,4]", "[6,10]"), 10),
       "2 bytes between a and b belong to no tensor"},
      {"TrailingBytes", small_file(sound, 9), "5 bytes after a belong to no tensor"},
  };
}

class BadHeader : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadHeader, IsReportedWithFileReasonAndMend) {
  const SafetensorsHeader header = read(GetParam().file);

  ASSERT_FALSE(header.problems.empty());
  EXPECT_THAT(text_of(header.problems), HasSubstr(GetParam().says));
  EXPECT_THAT(header.problems[0].where, HasSubstr("m.safetensors"));
  EXPECT_FALSE(header.problems[0].mend.empty());
}

INSTANTIATE_TEST_SUITE_P(Safetensors, BadHeader, ::testing::ValuesIn(bad_files()),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(Safetensors, ReportsEveryBadTensorOfAHeaderAtOnce) {
  const SafetensorsHeader header =
      read(small_file(R"({"a":{"dtype":"F13","shape":[4],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"I8","shape":[-1],"data_offsets":[9,4]},)"
                      R"("c":{"dtype":"I8","shape":[4],"data_offsets":[4,8]}})",
                      8));

  const std::string text = text_of(header.problems);
  EXPECT_THAT(text, HasSubstr("m.safetensors: a: unknown dtype"));
  EXPECT_THAT(text, HasSubstr("m.safetensors: b: shape must be"));
  EXPECT_THAT(text, HasSubstr("m.safetensors: b: data_offsets [9,4] end before"));
  ASSERT_EQ(header.tensors.size(), 1U);
  EXPECT_EQ(header.tensors[0].name, "c");
}

}  // namespace
}  // namespace deepinfer::engine
