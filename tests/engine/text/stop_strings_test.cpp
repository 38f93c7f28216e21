#include "engine/text/stop_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace deepinfer::engine {
namespace {

struct Delivery {
  std::string text;
  std::string stop;
  std::size_t most_held = 0;
};

Delivery deliver(const std::vector<std::string>& stops, bool keep,
                 const std::vector<std::string>& pieces) {
  StopStrings stop_strings(stops, keep);
  Delivery result;
  std::size_t pushed = 0;
  for (const std::string& piece : pieces) {
    const StopStrings::Outcome outcome = stop_strings.push(piece);
    result.text += outcome.text;
    pushed += piece.size();
    if (outcome.stopped) {
      result.stop = outcome.stop;
      return result;
    }
    result.most_held = std::max(result.most_held, pushed - result.text.size());
  }
  result.text += stop_strings.finish();
  return result;
}

// The definition: the earliest end, of those the longest.
Delivery by_definition(const std::vector<std::string>& stops, bool keep, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::string found;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop) && stop.size() > found.size()) found = stop;
    }
    if (!found.empty()) return {text.substr(0, keep ? end : end - found.size()), found};
  }
  return {text, ""};
}

TEST(StopStrings, EndTheTextBeforeTheStopString) {
  const Delivery result = deliver({"STOP"}, false, {"one S", "T", "OP two"});

  EXPECT_EQ(result.text, "one ");
  EXPECT_EQ(result.stop, "STOP");
}

TEST(StopStrings, KeepTheStopStringOnRequest) {
  const Delivery result = deliver({"STOP"}, true, {"one S", "T", "OP two"});

  EXPECT_EQ(result.text, "one STOP");
  EXPECT_EQ(result.stop, "STOP");
  EXPECT_EQ(result.most_held, 0U);
}

// B037: what is held back comes at the end.
TEST(StopStrings, DeliverTheBeginningOfAStopStringAtTheEnd) {
  const Delivery result = deliver({"XYZ"}, false, {"abc", "X"});

  EXPECT_EQ(result.text, "abcX");
  EXPECT_EQ(result.stop, "");
  EXPECT_EQ(result.most_held, 1U);
}

TEST(StopStrings, PreferTheEarliestEndAndThenTheLongest) {
  EXPECT_EQ(deliver({"abcd", "bc"}, false, {"xabcd"}).text, "xa");
  EXPECT_EQ(deliver({"c", "abc", "bc"}, false, {"xabc"}).text, "x");
  EXPECT_EQ(deliver({"c", "abc", "bc"}, false, {"xabc"}).stop, "abc");
}

TEST(StopStrings, HoldNothingWithoutStopStrings) {
  const Delivery result = deliver({}, false, {"a", "b"});

  EXPECT_EQ(result.text, "ab");
  EXPECT_EQ(result.most_held, 0U);
}

TEST(StopStrings, NeverCutACharacter) {
  StopStrings stops({"é!"}, false);

  EXPECT_EQ(stops.push("aé").text, "a");
  EXPECT_EQ(stops.push("é").text, "é");
  EXPECT_EQ(stops.finish(), "é");
}

// B035, B037: random texts over a small alphabet, cut at random.
TEST(StopStrings, EqualTheDefinitionHoweverTheTextIsCut) {
  std::mt19937 random(3);
  const auto word = [&](std::size_t longest) {
    std::string text(1 + random() % longest, ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };

  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops(1 + random() % 3);
    std::size_t longest = 0;
    for (std::string& stop : stops) {
      stop = word(6);
      longest = std::max(longest, stop.size());
    }
    std::vector<std::string> pieces(1 + random() % 10);
    std::string text;
    for (std::string& piece : pieces) text += piece = word(4);
    const bool keep = random() % 2 == 0;

    const Delivery expected = by_definition(stops, keep, text);
    const Delivery result = deliver(stops, keep, pieces);

    ASSERT_EQ(result.text, expected.text);
    ASSERT_EQ(result.stop, expected.stop);
    ASSERT_LT(result.most_held, longest);
  }
}

}  // namespace
}  // namespace deepinfer::engine
