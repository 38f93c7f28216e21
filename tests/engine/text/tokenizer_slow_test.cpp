#include <gtest/gtest.h>

#include <string>

#include "tests/engine/text/text_fixtures.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

// B026: two million words of one character, and a single word as long.
TEST(Tokenizer, EncodesTwoMillionWordsAndAWordOfTwoMillionCharacters) {
  const Tokenizer& tokenizer = test::released_tokenizer();
  std::string words;
  for (int i = 0; i < 2'000'000; ++i) words += "a ";
  const std::string word(2'000'000, 'x');

  for (const std::string& text : {words, word}) {
    const auto ids = tokenizer.encode(text, ControlTokens::kRecognised);
    ASSERT_OK(ids);
    EXPECT_LE(ids->size(), text.size());
    const auto decoded = tokenizer.decode(*ids, SpecialTokens::kKeep);
    ASSERT_OK(decoded);
    EXPECT_TRUE(*decoded == text);
  }
}

}  // namespace
}  // namespace deepinfer::engine
