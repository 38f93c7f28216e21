#include "config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

#include "config/accounts.h"
#include "config/fields.h"
#include "config/utf8.h"
#include "config/words.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::config {
namespace {

TEST(Settings, AKeysSectionStandsTogether) {
  std::vector<std::string_view> sections;
  for (const Setting& setting : known_settings()) {
    const std::string_view section = setting.key.substr(0, setting.key.find('.'));
    if (sections.empty() || sections.back() != section) sections.push_back(section);
  }

  EXPECT_EQ(std::set(sections.begin(), sections.end()).size(), sections.size());
}

TEST(Settings, FieldsAreKnownInTheSameOrderAndEveryOtherKeyNamesItsPart) {
  auto next = fields().begin();
  for (const Setting& setting : known_settings()) {
    if (next != fields().end() && next->key == setting.key) {
      ++next;
      continue;
    }
    EXPECT_FALSE(setting.part.empty()) << setting.key;
  }
  EXPECT_EQ(next, fields().end());
}

TEST(Settings, AKeyHasOneNameInTheEnvironment) {
  EXPECT_EQ(variable_of_key("ipc.socket"), "DEEPINFER_IPC__SOCKET");
  EXPECT_EQ(variable_of_key("engine.max_batch_tokens"), "DEEPINFER_ENGINE__MAX_BATCH_TOKENS");
}

TEST(Settings, AKeyIsFoundAsTheFileSpellsIt) {
  ASSERT_NE(setting_of_key("model.engram_storage"), nullptr);
  EXPECT_EQ(setting_of_key("model.engram_storage")->kind, ValueKind::kWord);
  EXPECT_EQ(setting_of_key("model"), nullptr);
  EXPECT_EQ(setting_of_key(""), nullptr);
}

TEST(Settings, AValueThatIsRefusedChangesNothing) {
  Options options;
  EXPECT_FAILS(apply_setting(*setting_of_key("ipc.allowed_uids"), "0,no such user", options),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(apply_setting(*setting_of_key("engine.backend"), "cuda", options),
               ErrorCode::kFailedPrecondition);

  EXPECT_EQ(options, Options{});
}

TEST(Words, HaveTheirPlaces) {
  EXPECT_EQ(index_of_word("auto|cpu|cuda", "cpu"), 1U);
  EXPECT_EQ(index_of_word("auto|cpu|cuda", "cud"), std::nullopt);
  EXPECT_EQ(index_of_word("", ""), std::nullopt);
  EXPECT_EQ(word_at("auto|cpu|cuda", 2), "cuda");
  EXPECT_EQ(word_at("auto|cpu|cuda", 3), "");
}

TEST(Utf8, TakesWhatUnicodeAllowsAndNothingElse) {
  for (const std::string_view text : {"", "a", "\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x99\x82",
                                      "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const std::string_view text :
       {"\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "a\xE2\x82", "\xC3\xC3"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

TEST(Accounts, AreFoundByNameOrTakenByNumber) {
  EXPECT_EQ(*user_id("root"), 0U);
  EXPECT_EQ(*group_id("root"), 0U);
  EXPECT_EQ(*user_id("4294967294"), 4294967294U);
  EXPECT_EQ(*group_id("7"), 7U);
}

TEST(Accounts, WhatIsNoAccountIsAnError) {
  for (const std::string_view text : {"", "no such account", "-1", "4294967295", "1-2"}) {
    EXPECT_FAILS(user_id(text), ErrorCode::kInvalidArgument);
    EXPECT_FAILS(group_id(text), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::config
