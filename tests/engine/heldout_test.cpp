// The trained model's held-out tasks through the public engine: every stored greedy token, and the
// accuracies of its README.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <deepinfer/engine.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden_file.h"

namespace deepinfer {
namespace {

using nlohmann::json;

// The text of a member, as it stands in the line: a prompt depends on the order of its keys.
std::string member_text(const std::string& line, const std::string& key) {
  const auto parsed = nlohmann::ordered_json::parse(line);
  return parsed.contains(key) && !parsed[key].is_null() ? parsed[key].dump() : std::string();
}

std::vector<std::string> read_lines(const std::string& file) {
  std::ifstream in(test::model_path("nano") / "heldout" / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class Collector final : public Sink {
 public:
  void on_token(const TokenEvent& event) override { streamed[event.request] += event.text; }
  void on_finished(RequestResult result) override {
    const RequestHandle handle = result.request;
    results[handle] = std::move(result);
  }
  std::map<RequestHandle, RequestResult> results;
  std::map<RequestHandle, std::string> streamed;
};

class HeldOut : public testing::Test {
 protected:
  void SetUp() override {
    EngineError error;
    engine_ = Engine::open({.model = test::model_path("nano"), .max_sequences = 16}, error);
    ASSERT_NE(engine_, nullptr) << error.what;
  }

  // Runs every line of a file greedily, all together; results in the order of the lines.
  std::vector<RequestResult> run(const std::vector<std::string>& lines) {
    Collector collector;
    std::vector<RequestHandle> handles;
    for (const std::string& line : lines) {
      const auto item = json::parse(line);
      Request request;
      request.prompt = ChatPrompt{.messages = member_text(line, "messages"),
                                  .tools = member_text(line, "tools"),
                                  .response_format = member_text(line, "response_format"),
                                  .thinking = item["thinking"],
                                  .reasoning_effort = item["reasoning_effort"]};
      request.sampling.temperature = 0;
      request.sampling.max_tokens = 400;
      const auto submitted = engine_->submit(request, collector);
      EXPECT_FALSE(submitted.error.has_value()) << item["id"];
      handles.push_back(submitted.request);
    }
    while (engine_->step() == StepOutcome::kWorked) {
    }
    std::vector<RequestResult> results;
    for (const RequestHandle handle : handles) {
      EXPECT_EQ(collector.streamed[handle], collector.results[handle].choices.at(0).text);
      results.push_back(std::move(collector.results[handle]));
    }
    return results;
  }

  // How many of a file's items get exactly the expected answer.
  std::size_t exact_matches(const std::string& file) {
    const std::vector<std::string> lines = read_lines(file);
    const std::vector<RequestResult> results = run(lines);
    std::size_t exact = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string text = results[i].choices.at(0).text;
      const std::size_t thought = text.rfind("</think>");
      if (thought != std::string::npos) text = text.substr(thought + 8);
      if (text == json::parse(lines[i])["expected"].get<std::string>()) ++exact;
    }
    RecordProperty(file, std::to_string(exact) + " of " + std::to_string(lines.size()));
    return exact;
  }

  std::unique_ptr<Engine> engine_;
};

TEST_F(HeldOut, All1386StoredGreedyTokensAreReproduced) {
  std::vector<std::string> lines;
  for (const char* file :
       {"extraction.jsonl", "qa.jsonl", "extraction_list.jsonl", "tools.jsonl", "lookup.jsonl"}) {
    for (const std::string& line : read_lines(file)) {
      if (json::parse(line).contains("greedy_ids")) lines.push_back(line);
    }
  }
  ASSERT_EQ(lines.size(), 40U);

  const std::vector<RequestResult> results = run(lines);

  std::size_t tokens = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto item = json::parse(lines[i]);
    EXPECT_EQ(results[i].prompt_tokens, item["prompt_ids"].get<std::vector<std::int32_t>>())
        << item["id"];
    EXPECT_EQ(results[i].choices.at(0).tokens, item["greedy_ids"].get<std::vector<std::int32_t>>())
        << item["id"];
    tokens += item["greedy_ids"].size();
  }
  EXPECT_EQ(tokens, 1386U);
}

// README: extraction 200 of 200, questions 194 of 200, tool calls 40 of 40; one point either way.
TEST_F(HeldOut, ExtractionIsWithinOnePointOf100Percent) {
  EXPECT_GE(exact_matches("extraction.jsonl"), 198U);
}

TEST_F(HeldOut, QuestionsAreWithinOnePointOf97Percent) {
  const std::size_t exact = exact_matches("qa.jsonl");
  EXPECT_GE(exact, 192U);
  EXPECT_LE(exact, 196U);
}

TEST_F(HeldOut, ToolCallsAreAllExact) { EXPECT_EQ(exact_matches("tools.jsonl"), 40U); }

}  // namespace
}  // namespace deepinfer
