// render_chat against the goldens: dsv41_prompt_goldens and the prompts of nano's held-out items.
#include <gtest/gtest.h>

#include "tests/engine/text/text_fixtures.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

ChatRequest request_of_golden(const Json& arguments) {
  ChatRequest request = test::request_of(arguments);
  request.options.thinking = arguments.value("enable_thinking", true);
  request.options.drop_thinking = arguments.value("drop_thinking", true);
  request.options.add_generation_prompt = arguments.value("add_generation_prompt", true);
  if (arguments.contains("reasoning_effort")) {
    const auto effort = parse_reasoning_effort(arguments.at("reasoning_effort"));
    if (effort) request.options.reasoning_effort = *effort;
  }
  return request;
}

TEST(ChatTemplate, RendersAndEncodesTheGoldenDsv41PromptGoldens) {
  const auto lines = test::read_json_lines(test::data_path("prompts/dsv41_prompt_goldens.jsonl"));
  ASSERT_EQ(lines.size(), 17U);  // the first describes the file

  for (std::size_t i = 1; i < lines.size(); ++i) {
    const ChatRequest request = request_of_golden(lines[i].at("kwargs"));

    const auto pieces = render_chat(request);

    ASSERT_OK(pieces);
    EXPECT_EQ(joined(*pieces), lines[i].at("render").get<std::string>());
    const auto ids = encode_pieces(test::released_tokenizer(), *pieces);
    ASSERT_OK(ids);
    EXPECT_EQ(*ids, test::token_ids(lines[i].at("ids"))) << lines[i].at("name");
  }
}

TEST(ChatTemplate, EncodesTheGoldenNanoHeldoutPrompts) {
  const std::vector<Json> items = test::nano_prompts();
  ASSERT_EQ(items.size(), 40U);

  for (const Json& item : items) {
    ChatRequest request = test::request_of(item);
    request.options.thinking = item.at("thinking").get<bool>();
    request.options.reasoning_effort = item.at("reasoning_effort").get<std::int64_t>();

    const auto pieces = render_chat(request);

    ASSERT_OK(pieces);
    const auto ids = encode_pieces(test::nano_tokenizer(), *pieces);
    ASSERT_OK(ids);
    EXPECT_EQ(*ids, test::token_ids(item.at("prompt_ids"))) << item.at("id");
  }
}

}  // namespace
}  // namespace deepinfer::engine
