#include "engine/text/python_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

TEST(PythonJson, WritesSeparatorsOrderAndNonAsciiAsPythonDoes) {
  const char* text = R"({"b":[1,-2,true,null,{}],"a":{"ü":"\u4f60\n\u0001\u007f/\"","e":[]}})";
  const std::string expected =
      "{\"b\": [1, -2, true, null, {}], \"a\": {\"ü\": \"你\\n\\u0001\x7F/\\\"\", \"e\": []}}";

  EXPECT_EQ(reformat_json(text), expected);
  const auto from_value = python_json(Json::parse(text));
  ASSERT_OK(from_value);
  EXPECT_EQ(*from_value, expected);
}

TEST(PythonJson, WritesFloatsAsPythonDoes) {
  const std::string text =
      "[1.0,1.50,1e5,1e15,1e16,123456789012345680000.0,0.0001,0.00001,-2.5e-7,-0.0,3.14159,1e22,"
      "1e100]";

  EXPECT_EQ(
      reformat_json(text),
      "[1.0, 1.5, 100000.0, 1000000000000000.0, 1e+16, 1.2345678901234568e+20, 0.0001, 1e-05, "
      "-2.5e-07, -0.0, 3.14159, 1e+22, 1e+100]");
}

TEST(PythonJson, KeepsEveryDigitOfAnInteger) {
  EXPECT_EQ(reformat_json("[18446744073709551615,-9223372036854775808,123456789012345678901234]"),
            "[18446744073709551615, -9223372036854775808, 123456789012345678901234]");
}

TEST(PythonJson, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "nul", "1 2", "\"\xFF\"", "1e999", "NaN", "{'a':1}"}) {
    EXPECT_FALSE(reformat_json(text).has_value()) << text;
  }
}

TEST(PythonJson, RefusesAValueNestedTooDeeply) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');

  EXPECT_FAILS(python_json(Json::parse(deep)), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(reformat_json(deep).has_value());  // text needs no stack
}

TEST(PythonJson, GivesTheMembersOfAnObject) {
  const auto members = parse_members(R"({"s":"a\"b","n":{"s":"x"},"l":["y",1],"s":2,"n":"z"})");

  ASSERT_TRUE(members.has_value());
  const std::vector<JsonMember> expected = {
      {"s", false, "2"}, {"n", true, "z"}, {"l", false, "[\"y\", 1]"}};
  EXPECT_EQ(*members, expected);
  EXPECT_EQ(parse_members("{}")->size(), 0U);
  EXPECT_FALSE(parse_members("[{\"a\":1}]").has_value());
  EXPECT_FALSE(parse_members("\"a\"").has_value());
}

}  // namespace
}  // namespace deepinfer::engine
