#include "config/toml_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace deepinfer::config {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TomlDocument document_of(const std::string& text) {
  const auto parsed = parse_toml(text);
  if (const auto* fault = std::get_if<TomlFault>(&parsed)) {
    ADD_FAILURE() << fault->what;
    return {};
  }
  return std::get<TomlDocument>(parsed);
}

TomlFault fault_of(const std::string& text) {
  const auto parsed = parse_toml(text);
  const auto* fault = std::get_if<TomlFault>(&parsed);
  if (fault == nullptr) ADD_FAILURE() << "no fault in " << text.substr(0, 80);
  return fault == nullptr ? TomlFault{} : *fault;
}

TEST(TomlFile, KeysAndValuesHaveTheirPlaces) {
  const TomlDocument document = document_of("stray = 1\n[a]\n\n  b   = \"x\"\n");

  ASSERT_THAT(document.strays, SizeIs(1));
  EXPECT_EQ(document.strays[0].place, (Place{1, 1}));
  ASSERT_THAT(document.sections, SizeIs(1));
  EXPECT_EQ(document.sections[0].place, (Place{2, 2}));
  ASSERT_THAT(document.sections[0].entries, SizeIs(1));
  EXPECT_EQ(document.sections[0].entries[0].place, (Place{4, 3}));
  EXPECT_EQ(document.sections[0].entries[0].value.place, (Place{4, 9}));
}

TEST(TomlFile, ColumnsCountCharactersNotBytes) {
  const TomlDocument document = document_of("[a]\n\"ü\" = 1\n");

  EXPECT_EQ(document.sections[0].entries[0].value.place, (Place{2, 7}));
}

TEST(TomlFile, EveryTypeIsTold) {
  const TomlDocument document = document_of(
      "[a]\na = 'x'\nb = -3\nc = 1.5\nd = true\ne = 2026-12-01\nf = [1, 'y']\ng = {h = 1}\n");
  const auto& entries = document.sections[0].entries;

  ASSERT_THAT(entries, SizeIs(7));
  EXPECT_EQ(entries[0].value.type, TomlType::kString);
  EXPECT_EQ(entries[1].value.text, "-3");
  EXPECT_EQ(entries[2].value.text, "1.5");
  EXPECT_EQ(entries[3].value.text, "true");
  EXPECT_EQ(entries[4].value.type, TomlType::kTime);
  ASSERT_THAT(entries[5].value.items, SizeIs(2));
  EXPECT_EQ(entries[5].value.items[1].text, "y");
  EXPECT_EQ(entries[6].value.type, TomlType::kTable);
}

TEST(TomlFile, WhatIsNotTomlHasAPlace) {
  EXPECT_EQ(fault_of("[a]\nb = \n").place, (Place{2, 5}));
  EXPECT_EQ(fault_of("[a]\nb = 1\nb = 2\n").place.line, 3U);
  EXPECT_EQ(fault_of("[a]\n[b]\n[a]\n").place.line, 3U);
  EXPECT_EQ(fault_of("a = \"no end\n").place.line, 1U);
  EXPECT_THAT(fault_of("[a]\nb = 1\nb = 2\n").what, HasSubstr("cannot redefine"));
}

TEST(TomlFile, BytesThatAreNotUtf8AreAFault) {
  EXPECT_THAT(fault_of("a = '\xFF'\n").what, HasSubstr("utf-8"));
  EXPECT_EQ(fault_of(std::string("a = 1\nb\0 = 2\n", 13)).place.line, 2U);
}

// Debug builds of the parser end the process on these when its assertions are on.
TEST(TomlFile, WhatTheParserAssertsIsAFaultToo) {
  for (const char* text : {"[=]", "[[[[", "[.a]", "[[=]]", "[ # ]"}) {
    EXPECT_EQ(fault_of(text).place.line, 1U) << text;
  }
}

// The sanitizers end the process on these when the parser takes them for unreachable.
TEST(TomlFile, LettersWhereABlankMayStandAreAFault) {
  for (const char* text : {"\xC3\xBC = 1", "a \xC3\xBC = 1", "a = \xD0\xB0", "[\xC3\xBC]",
                           "[a] \xE3\x80\x81", "a = [\xC3\xBC]", "a = {\xEF\xB7\xB2 = 1}"}) {
    EXPECT_EQ(fault_of(text).place.line, 1U) << text;
  }
  const TomlDocument document = document_of("a = \"\"\"x\\\n\xC3\xBC\"\"\"");
  EXPECT_EQ(document.strays.at(0).value.text, "x\xC3\xBC");
}

TEST(TomlFile, KeysOfAnyLengthDoNotOverflowTheStack) {
  std::string key = "a";
  for (int i = 0; i < 300'000; ++i) key += ".a";

  EXPECT_THAT(fault_of("x = 1\n" + key + " = 1\n").what, HasSubstr("64 dots"));
  EXPECT_EQ(fault_of("x = 1\n" + key + " = 1\n").place, (Place{2, 1}));
  EXPECT_THAT(fault_of("[" + key + "]\n").what, HasSubstr("64 dots"));
}

TEST(TomlFile, DotsOfAnEllipsisOrARulerAreNoDeepKey) {
  const std::string ruler = "# " + std::string(100, '.') + "\n";

  EXPECT_THAT(document_of(ruler + "[a]\nb = '...'\n").sections, SizeIs(1));
}

TEST(TomlFile, ValuesOfAnyDepthDoNotOverflowTheStack) {
  EXPECT_THAT(fault_of("a = " + std::string(100'000, '[')).what, HasSubstr("depth"));
  std::string tables = "a = ";
  for (int i = 0; i < 10'000; ++i) tables += "{a=";
  EXPECT_THAT(fault_of(tables).what, HasSubstr("depth"));
}

TEST(TomlFile, WhatTheLimitsAllowTogetherIsRead) {
  std::string dotted = "a";
  for (int i = 0; i < 63; ++i) dotted += ".a";
  std::string opening;
  std::string closing;
  for (int i = 0; i < 7; ++i) {
    opening += dotted + " = [\n{";
    closing += "}]";
  }

  EXPECT_THAT(document_of(opening + "a = 1" + closing + "\n").sections, SizeIs(1));
}

}  // namespace
}  // namespace deepinfer::config
