#include "config/values.h"

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/support/result_matchers.h"

namespace deepinfer::config {
namespace {

using std::chrono::milliseconds;

TEST(Values, BooleansAreReadInEveryDocumentedSpelling) {
  for (const std::string_view text : {"1", "true", "YES", "On", "TRUE"}) {
    const auto value = parse_boolean(text);
    ASSERT_OK(value);
    EXPECT_TRUE(*value) << text;
  }
  for (const std::string_view text : {"0", "false", "No", "OFF"}) {
    const auto value = parse_boolean(text);
    ASSERT_OK(value);
    EXPECT_FALSE(*value) << text;
  }
}

TEST(Values, OtherBooleansAreErrors) {
  for (const std::string_view text : {"", "2", "maybe", "tru", " 1"}) {
    EXPECT_FAILS(parse_boolean(text), ErrorCode::kInvalidArgument);
  }
}

TEST(Values, IntegersAreWholeDecimalNumbersOf64Bits) {
  EXPECT_EQ(*parse_integer("-9223372036854775808"), INT64_MIN);
  for (const std::string_view text :
       {"", "1.0", "1e3", "+1", "0x10", "9223372036854775808", "1 "}) {
    EXPECT_FAILS(parse_integer(text), ErrorCode::kInvalidArgument);
  }
}

TEST(Values, NumbersAreFinite) {
  EXPECT_DOUBLE_EQ(*parse_number("-1.5e2"), -150);
  for (const std::string_view text : {"", "nan", "inf", "1e999", "1,5"}) {
    EXPECT_FAILS(parse_number(text), ErrorCode::kInvalidArgument);
  }
}

TEST(Values, SizesTakeBinaryUnitsWithOrWithoutABlank) {
  EXPECT_EQ(*parse_size("0"), 0);
  EXPECT_EQ(*parse_size("7KiB"), 7 * 1024);
  EXPECT_EQ(*parse_size("512 MiB"), std::int64_t{512} << 20);
  EXPECT_EQ(*parse_size("10GiB"), std::int64_t{10} << 30);
  for (const std::string_view text :
       {"", "GiB", "-1", "1GB", "1gib", "1.5GiB", "9223372036854775807KiB", "1 GiB x"}) {
    EXPECT_FAILS(parse_size(text), ErrorCode::kInvalidArgument);
  }
}

TEST(Values, TimesTakeMillisecondsToHours) {
  EXPECT_EQ(*parse_duration("200 ms"), milliseconds(200));
  EXPECT_EQ(*parse_duration("0.5s"), milliseconds(500));
  EXPECT_EQ(*parse_duration("90min"), milliseconds(5'400'000));
  EXPECT_EQ(*parse_duration("1 h"), milliseconds(3'600'000));
  for (const std::string_view text :
       {"", "5", "-5s", "5 sec", "s", "1e999s", "99999999999999h", "5ss"}) {
    EXPECT_FAILS(parse_duration(text), ErrorCode::kInvalidArgument);
  }
}

TEST(Values, TimesOfSettingsAreSecondsWithoutAUnit) {
  EXPECT_EQ(*parse_duration_or_seconds("2"), milliseconds(2000));
  EXPECT_EQ(*parse_duration_or_seconds("0.25"), milliseconds(250));
  EXPECT_EQ(*parse_duration_or_seconds("200 ms"), milliseconds(200));
  for (const std::string_view text : {"", "-1", "5m", "200 m", "nan", "1e30", "s"}) {
    EXPECT_FAILS(parse_duration_or_seconds(text), ErrorCode::kInvalidArgument);
  }
}

TEST(Values, ModesAreOctal) {
  EXPECT_EQ(*parse_mode("0660"), 0660U);
  EXPECT_EQ(*parse_mode("0o777"), 0777U);
  EXPECT_EQ(*parse_mode("0"), 0U);
  for (const std::string_view text : {"", "0o", "0888", "01777", "-1", "rw-rw----", "660 "}) {
    EXPECT_FAILS(parse_mode(text), ErrorCode::kInvalidArgument);
  }
}

TEST(Values, ListsHaveCommasBetweenTheirItems) {
  using Items = std::vector<std::string_view>;
  EXPECT_EQ(*split_list(""), Items());
  EXPECT_EQ(*split_list("  "), Items());
  EXPECT_EQ(*split_list("a"), Items({"a"}));
  EXPECT_EQ(*split_list("a, b b ,c"), Items({"a", "b b", "c"}));
  for (const std::string_view text : {",", "a,", ",a", "a,,b", "a, ,b"}) {
    EXPECT_FAILS(split_list(text), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::config
