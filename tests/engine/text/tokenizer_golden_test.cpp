// Tokenizer against the goldens: dsv41_tokenizer_goldens, tiny_tokenizer_cases, the Engram maps.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/text/text_fixtures.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

TEST(Tokenizer, EncodesAndDecodesTheReleasedGoldenDsv41TokenizerGoldens) {
  const Tokenizer& tokenizer = test::released_tokenizer();
  const auto lines =
      test::read_json_lines(test::data_path("prompts/dsv41_tokenizer_goldens.jsonl"));
  ASSERT_EQ(lines.size(), 116U);  // the first describes the file
  ASSERT_EQ(tokenizer.vocabulary(), 129280);

  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto text = lines[i].at("text").get<std::string>();
    const std::vector<TokenId> expected = test::token_ids(lines[i].at("ids"));

    const auto ids = tokenizer.encode(text, ControlTokens::kRecognised);
    ASSERT_OK(ids);
    EXPECT_EQ(*ids, expected) << text;
    const auto decoded = tokenizer.decode(expected, SpecialTokens::kKeep);
    ASSERT_OK(decoded);
    EXPECT_EQ(*decoded, text);
  }
}

TEST(Tokenizer, EncodesAndDecodesTheTinyGoldenTinyTokenizerCases) {
  const Tokenizer& tokenizer = test::tiny_tokenizer();
  const Json cases =
      Json::parse(test::read_file(test::data_path("golden/tiny_tokenizer_cases.json")));
  ASSERT_EQ(cases.size(), 19U);

  for (const Json& item : cases) {
    const auto text = item.at("text").get<std::string>();
    const std::vector<TokenId> expected = test::token_ids(item.at("ids"));

    const auto ids = tokenizer.encode(text, ControlTokens::kRecognised);
    ASSERT_OK(ids);
    EXPECT_EQ(*ids, expected) << text;
    const auto kept = tokenizer.decode(expected, SpecialTokens::kKeep);
    const auto skipped = tokenizer.decode(expected, SpecialTokens::kSkip);
    ASSERT_OK(kept);
    ASSERT_OK(skipped);
    EXPECT_EQ(*kept, item.at("decoded").get<std::string>());
    EXPECT_EQ(*skipped, item.at("decoded_skip_special").get<std::string>());
  }
}

TEST(Tokenizer, MakesTheReleasedGoldenEngramTokenMap) {
  const std::vector<std::int32_t> expected =
      test::read_u32(test::read_gzip(test::asset_path("engram_token_map.u32le.gz")));

  const std::vector<std::int32_t> map = test::released_tokenizer().engram_map();

  ASSERT_EQ(map.size(), 129280U);
  EXPECT_EQ(map, expected);
  EXPECT_EQ(*std::max_element(map.begin(), map.end()) + 1, 99092);
}

TEST(Tokenizer, MakesTheNanoGoldenEngramTokenMap) {
  const std::vector<std::int32_t> expected =
      test::read_u32(test::read_file(test::model_path("nano/engram_token_map.u32le")));

  EXPECT_EQ(test::nano_tokenizer().engram_map(), expected);
}

TEST(Tokenizer, MakesTheTinyGoldenEngramMeta) {
  const Json meta = Json::parse(test::read_file(test::data_path("golden/tiny/engram_meta.json")));

  EXPECT_EQ(test::tiny_tokenizer().engram_map(),
            meta.at("token_map").get<std::vector<std::int32_t>>());
}

}  // namespace
}  // namespace deepinfer::engine
