#include "engine/text/tokenizer.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <utility>

#include "engine/text/utf8.h"
#include "tests/engine/text/text_fixtures.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

constexpr std::array<const char*, 8> kSpellings = {
    "<｜Assistant｜>",       "<｜User｜>",           "<think>", "</think>", "｜DSML｜",
    "<｜end▁of▁sentence｜>", "<｜deepseek_image｜>", "<|EOT|>"};

void append_utf8(std::string& text, std::uint32_t code) {
  const auto byte = [&](std::uint32_t value) { text += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | (code >> 6));
  } else {
    byte(code < 0x10000 ? 0xE0 | (code >> 12) : 0xF0 | (code >> 18));
    if (code >= 0x10000) byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

std::uint32_t below(std::mt19937& random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

// Any character but surrogates, half of them ASCII, with control tokens spelled in between.
std::string random_text(std::mt19937& random) {
  std::string text;
  const std::size_t length = below(random, 40);
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint32_t code = below(random, below(random, 2) == 0 ? 0x80 : 0x110000);
    if (below(random, 10) == 0) text += kSpellings.at(below(random, kSpellings.size()));
    if (code < 0xD800 || code > 0xDFFF) append_utf8(text, code);
  }
  return text;
}

std::vector<TokenId> random_ids(std::mt19937& random, const Tokenizer& tokenizer) {
  std::vector<TokenId> ids(below(random, 30));
  const auto all = static_cast<std::uint32_t>(tokenizer.vocabulary());
  for (TokenId& id : ids) {
    // Half of them single bytes, so that characters are cut and broken.
    const std::uint32_t bound = below(random, 2) == 0 ? 300 : all;
    id = TokenId{static_cast<std::int32_t>(below(random, bound))};
  }
  return ids;
}

TEST(Tokenizer, GivesBackRandomTextAndMakesNoControlTokenOfIt) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  std::mt19937 random(1);

  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_text(random);
    const auto ids = tokenizer.encode(text, ControlTokens::kAsText);
    ASSERT_OK(ids);
    for (const TokenId id : *ids) {
      ASSERT_GT(value_of(id), 2) << text;
      ASSERT_LT(value_of(id), 4032) << text;  // where nano's added tokens begin
    }
    const auto decoded = tokenizer.decode(*ids, SpecialTokens::kKeep);
    ASSERT_OK(decoded);
    ASSERT_EQ(*decoded, text);
    const auto recognised = tokenizer.encode(text, ControlTokens::kRecognised);
    ASSERT_OK(recognised);
    ASSERT_EQ(*tokenizer.decode(*recognised, SpecialTokens::kKeep), text);
  }
}

TEST(Tokenizer, RecognisesSpellingsOnlyWhenAsked) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  for (const char* spelling : kSpellings) {
    const auto control = tokenizer.encode(spelling, ControlTokens::kRecognised);
    const auto text = tokenizer.encode(spelling, ControlTokens::kAsText);
    const auto id = tokenizer.added_token(spelling);

    ASSERT_OK(control);
    ASSERT_OK(text);
    ASSERT_OK(id);
    EXPECT_EQ(*control, std::vector<TokenId>{*id}) << spelling;
    EXPECT_GT(text->size(), 1U) << spelling;
    EXPECT_EQ(tokenizer.token_bytes(*id), spelling);
  }
  EXPECT_FAILS(tokenizer.added_token("the"), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(tokenizer.added_token(""), ErrorCode::kInvalidArgument);
}

TEST(Tokenizer, StreamsWhatItDecodes) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  std::mt19937 random(2);

  for (int round = 0; round < 5000; ++round) {
    const auto special = round % 2 == 0 ? SpecialTokens::kKeep : SpecialTokens::kSkip;
    const std::vector<TokenId> ids = random_ids(random, tokenizer);
    TextStream stream(tokenizer, special);
    std::string streamed;
    for (const TokenId id : ids) {
      const std::string piece = stream.push(id);
      std::string whole;
      ASSERT_TRUE(append_characters(piece, whole).empty());  // no half character
      ASSERT_EQ(whole, piece);
      streamed += piece;
    }
    streamed += stream.finish();

    const auto decoded = tokenizer.decode(ids, special);
    ASSERT_OK(decoded);
    ASSERT_EQ(streamed, *decoded);
  }
}

// B043: syllables whose bytes come in several tokens.
TEST(TextStream, LosesNoHangulSyllable) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  std::string text;
  for (std::uint32_t code = 0xAC00; code < 0xAF00; ++code) append_utf8(text, code);
  const auto ids = tokenizer.encode(text, ControlTokens::kAsText);
  ASSERT_OK(ids);
  ASSERT_GT(ids->size(), 0x300U);

  TextStream stream(tokenizer, SpecialTokens::kSkip);
  std::string streamed;
  for (const TokenId id : *ids) streamed += stream.push(id);

  EXPECT_EQ(streamed, text);
  EXPECT_EQ(stream.finish(), "");
}

TokenId byte_token(const Tokenizer& tokenizer, char byte) {
  for (std::int32_t id = 3; id < 300; ++id) {
    if (tokenizer.token_bytes(TokenId{id}) == std::string_view(&byte, 1)) return TokenId{id};
  }
  ADD_FAILURE() << "no token for the byte";
  return TokenId{0};
}

// B044: a byte that begins a character, then something else.
TEST(TextStream, ReplacesALoneByteAndGoesOn) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  TextStream stream(tokenizer, SpecialTokens::kKeep);

  EXPECT_EQ(stream.push(byte_token(tokenizer, '\xC3')), "");
  EXPECT_EQ(stream.push(byte_token(tokenizer, ' ')), "\uFFFD ");
  EXPECT_EQ(stream.push(byte_token(tokenizer, 't')), "t");
  EXPECT_EQ(stream.push(byte_token(tokenizer, '\xFF')), "\uFFFD");
  EXPECT_EQ(stream.push(byte_token(tokenizer, '\xF0')), "");
  EXPECT_EQ(stream.push(byte_token(tokenizer, '\x9F')), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Tokenizer, SkipsWhatTheFileCallsSpecial) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  const auto is_special = [&](const char* spelling) {
    const auto id = tokenizer.added_token(spelling);
    return id.has_value() && tokenizer.is_special(*id);
  };

  for (const char* spelling : {"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>",
                               "<｜System｜>", "<｜place▁holder▁no▁0｜>", "</think>"}) {
    EXPECT_TRUE(is_special(spelling)) << spelling;
  }
  EXPECT_FALSE(is_special("<｜User｜>"));
  EXPECT_FALSE(tokenizer.is_special(TokenId{300}));
  EXPECT_FALSE(tokenizer.is_special(TokenId{-1}));
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  for (const char* text : {"\xFF", "ok \xC3", "\xED\xA0\x80", "\xC0\xAF", "\xF4\x90\x80\x80"}) {
    EXPECT_FAILS(tokenizer.encode(text, ControlTokens::kRecognised), ErrorCode::kDataLoss);
    EXPECT_FAILS(tokenizer.encode(text, ControlTokens::kAsText), ErrorCode::kDataLoss);
  }
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  ASSERT_EQ(tokenizer.vocabulary(), 4096);
  for (const std::int32_t id : {-1, 4096, 129280, 2147483647}) {
    const std::vector<TokenId> ids = {TokenId{5}, TokenId{id}};
    EXPECT_FAILS(tokenizer.decode(ids, SpecialTokens::kKeep), ErrorCode::kInvalidArgument);
    EXPECT_EQ(tokenizer.token_bytes(TokenId{id}), "");
  }
}

TEST(Tokenizer, TakesTheEmptyText) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  for (const auto control : {ControlTokens::kRecognised, ControlTokens::kAsText}) {
    const auto ids = tokenizer.encode("", control);
    ASSERT_OK(ids);
    EXPECT_TRUE(ids->empty());
  }
  EXPECT_EQ(*tokenizer.decode({}, SpecialTokens::kKeep), "");
}

TEST(Tokenizer, DecodesTokensThatAreLongerThanUsual) {
  const Tokenizer& tokenizer = test::nano_tokenizer();
  const auto id = tokenizer.added_token("<｜place▁holder▁for▁pointer▁replace｜>");
  ASSERT_OK(id);
  const std::vector<TokenId> ids(5, *id);

  const auto text = tokenizer.decode(ids, SpecialTokens::kKeep);

  ASSERT_OK(text);
  EXPECT_EQ(text->size(), 5 * tokenizer.token_bytes(*id).size());
}

// The regex engine of the crate stops silently in longer runs.
TEST(Tokenizer, RefusesEndlessWhiteSpace) {
  const Tokenizer& tokenizer = test::nano_tokenizer();

  EXPECT_FAILS(tokenizer.encode(std::string(500'001, ' '), ControlTokens::kAsText),
               ErrorCode::kInvalidArgument);
  const auto ids = tokenizer.encode(std::string(20'000, '\n') + "x y", ControlTokens::kAsText);
  const auto tail = tokenizer.encode("x y", ControlTokens::kAsText);
  ASSERT_OK(ids);
  ASSERT_OK(tail);
  EXPECT_TRUE(std::equal(tail->rbegin(), tail->rend(), ids->rbegin()));
}

std::string with(const Json& file, const char* pointer, const Json& value) {
  Json changed = file;
  changed[Json::json_pointer(pointer)] = value;
  return changed.dump();
}

TEST(Tokenizer, RefusesBrokenFilesWithOneError) {
  const std::string text = test::read_file(test::model_path("nano/tokenizer.json"));
  const Json file = Json::parse(text);
  Json no_model = file;
  no_model.erase("model");
  const std::vector<std::string> broken = {
      "",
      "{",
      "null",
      "[]",
      "not JSON",
      "\xFF\xFE",
      text.substr(0, text.size() / 2),
      text.substr(0, text.size() - 1),
      std::string(100'000, '['),
      no_model.dump(),
      with(file, "/model/type", "Nonsense"),
      with(file, "/model/vocab", Json::object()),
      with(file, "/model/vocab/x", 4'294'967'295U),
      with(file, "/model/vocab/x", 5'000'000),
      with(file, "/model/vocab/x", -1),
      with(file, "/model/merges/0", "not there"),
      with(file, "/decoder", nullptr),
      with(file, "/decoder/type", "Nonsense"),
      with(file, "/pre_tokenizer/pretokenizers/0/pattern/Regex", "("),
      with(file, "/added_tokens/5/id", 77),
      with(file, "/added_tokens", 3),
      with(file, "/version", "9.9"),
  };

  for (const std::string& json : broken) {
    const auto parsed = Tokenizer::parse(json);
    ASSERT_FALSE(parsed.has_value()) << json.substr(0, 200);
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument) << parsed.error().message;
    EXPECT_NE(parsed.error().message, "");
  }
}

TEST(Tokenizer, NamesTheFileThatItCannotRead) {
  const auto loaded = Tokenizer::load("/nonexistent/tokenizer.json");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(loaded.error().message.find("/nonexistent/tokenizer.json"), std::string::npos);

  EXPECT_FAILS(Tokenizer::load("/"), ErrorCode::kInvalidArgument);
  ASSERT_OK(Tokenizer::load(test::model_path("nano/tokenizer.json")));
}

}  // namespace
}  // namespace deepinfer::engine
