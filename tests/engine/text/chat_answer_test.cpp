#include "engine/text/chat_answer.h"

#include <gtest/gtest.h>

#include "tests/engine/text/text_fixtures.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

const std::string kBlock =
    "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"get_weather\">\n"
    "<｜DSML｜ parameter name=\"city\" string=\"true\">Par\"is</｜DSML｜ parameter>\n"
    "<｜DSML｜ parameter name=\"days\" string=\"false\">[3,{\"a\":1}]</｜DSML｜ parameter>\n"
    "</｜DSML｜ invoke>\n</｜DSML｜ calls>";

const ToolCall kCall = {"get_weather", R"({"city": "Par\"is", "days": [3, {"a": 1}]})"};

TEST(ChatAnswer, SplitsReasoningContentAndCalls) {
  const ChatAnswer answer = parse_answer("Let me see.</think>Here:" + kBlock, true);

  EXPECT_EQ(answer.reasoning, "Let me see.");
  EXPECT_TRUE(answer.reasoning_closed);
  EXPECT_EQ(answer.content, "Here:");
  EXPECT_EQ(answer.tool_calls, std::vector<ToolCall>{kCall});
}

TEST(ChatAnswer, HasNoContentWhenCutInsideTheReasoning) {
  const ChatAnswer answer = parse_answer("Let me see" + kBlock, true);

  EXPECT_EQ(answer.reasoning, "Let me see" + kBlock);
  EXPECT_FALSE(answer.reasoning_closed);
  EXPECT_EQ(answer.content, "");
  EXPECT_TRUE(answer.tool_calls.empty());
}

TEST(ChatAnswer, IsAllContentWithoutThinking) {
  const ChatAnswer answer = parse_answer("a</think>b", false);

  EXPECT_EQ(answer.reasoning, "");
  EXPECT_TRUE(answer.reasoning_closed);
  EXPECT_EQ(answer.content, "a</think>b");
}

TEST(ChatAnswer, TakesSeveralCallsAndCallsWithoutArguments) {
  const ChatAnswer answer = parse_answer(
      "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"ns::a\">\n\n</｜DSML｜ invoke>\n"
      "<｜DSML｜ invoke name=\"b\">\n</｜DSML｜ invoke>\n</｜DSML｜ calls>\n",
      false);

  EXPECT_EQ(answer.content, "");
  const std::vector<ToolCall> expected = {{"ns::a", "{}"}, {"b", "{}"}};
  EXPECT_EQ(answer.tool_calls, expected);
}

// B045: a cut at any byte leaves the text whole in the content.
TEST(ChatAnswer, LeavesACutBlockInTheContent) {
  const std::string text = "Here:" + kBlock;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const ChatAnswer answer = parse_answer(text.substr(0, size), false);
    ASSERT_EQ(answer.content, text.substr(0, size));
    ASSERT_TRUE(answer.tool_calls.empty());
  }
}

TEST(ChatAnswer, LeavesAMalformedBlockInTheContent) {
  const std::string open = "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n";
  const std::string close = "</｜DSML｜ invoke>\n</｜DSML｜ calls>";
  const auto parameter = [](const std::string& head, const std::string& value) {
    return "<｜DSML｜ parameter name=" + head + ">" + value + "</｜DSML｜ parameter>\n";
  };
  const std::vector<std::string> texts = {
      kBlock + "and more",
      "x\n" + kBlock.substr(2),  // one newline only
      "\n\n<｜DSML｜ calls>\n</｜DSML｜ calls>",
      open + parameter(R"("a" string="false")", "not JSON") + close,
      open + parameter(R"("a" string="maybe")", "1") + close,
      open + parameter(R"("a")", "1") + close,
      open + parameter(R"("a" string="true")", "1") + parameter(R"("a" string="true")", "2") +
          close,
      open + "text" + close,
      "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"\">\n" + close,
  };
  for (const std::string& text : texts) {
    const ChatAnswer answer = parse_answer(text, false);
    EXPECT_EQ(answer.content, text);
    EXPECT_TRUE(answer.tool_calls.empty());
  }
}

TEST(ChatAnswer, FindsTheBlockBehindOneThatIsNone) {
  const ChatAnswer answer = parse_answer("\n\n<｜DSML｜ calls>\nis how it starts." + kBlock, false);

  EXPECT_EQ(answer.content, "\n\n<｜DSML｜ calls>\nis how it starts.");
  EXPECT_EQ(answer.tool_calls, std::vector<ToolCall>{kCall});
}

// The answer part of a rendered assistant turn.
std::string rendered_answer(const Json& assistant) {
  const Json messages = {{{"role", "user"}, {"content", "q"}}, assistant};
  const auto pieces = render_chat(
      {.messages = &messages, .options = {.thinking = true, .add_generation_prompt = false}});
  if (!pieces) return pieces.error().message;
  const std::string text = joined(*pieces);
  const std::string header = "<｜Assistant｜><think>";
  const std::size_t begin = text.rfind(header) + header.size();
  return text.substr(begin, text.size() - begin - std::string("<｜end▁of▁sentence｜>").size());
}

TEST(ChatAnswer, GivesBackWhatTheTemplateRendered) {
  const std::vector<std::string> arguments = {
      R"({})",
      R"({"a": "x"})",
      R"({"a": "", "b": 1, "c": [1, 2.5, null], "d": {"e": "ü \" \\ \n"}})",
      R"({"text": "</｜DSML｜ invoke>\n</｜DSML｜ calls> <tag> & \"quotes\"", "n": 123456789012345678901234})",
      R"({"multi": "line\n\nline\n"})",
  };
  Json assistant = {{"role", "assistant"}, {"reasoning_content", "why"}, {"content", "so"}};
  std::vector<ToolCall> expected;
  for (const std::string& text : arguments) {
    const std::string name = "f" + std::to_string(expected.size());
    expected.push_back({name, text});
    assistant["tool_calls"].push_back(
        {{"id", name}, {"function", {{"name", name}, {"arguments", text}}}});
  }

  const ChatAnswer answer = parse_answer(rendered_answer(assistant), true);

  EXPECT_EQ(answer.reasoning, "why");
  EXPECT_EQ(answer.content, "so");
  EXPECT_EQ(answer.tool_calls, expected);
}

TEST(ChatAnswer, ParsesTheGoldenNanoToolCalls) {
  int count = 0;
  for (const Json& item : test::read_json_lines(test::model_path("nano/heldout/tools.jsonl"))) {
    const ChatAnswer answer = parse_answer(item.at("expected").get<std::string>(), false);
    const Json& calls = item.at("expected_tool_calls");
    ASSERT_EQ(answer.tool_calls.size(), calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Json& function = calls[i].at("function");
      EXPECT_EQ(answer.tool_calls[i].name, function.at("name"));
      EXPECT_EQ(Json::parse(answer.tool_calls[i].arguments), function.at("arguments"));
      ++count;
    }
  }
  EXPECT_GE(count, 40);
}

}  // namespace
}  // namespace deepinfer::engine
