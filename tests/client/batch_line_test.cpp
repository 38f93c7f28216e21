#include "client/cli/batch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace deepinfer::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

BatchLine parse(const std::string& text) { return parse_batch_line(text, 7, {}); }

// A chat line of the OpenAI form with these fields in its body.
std::string chat(const std::string& fields) {
  return R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Hi"}])" +
         (fields.empty() ? "" : "," + fields) + "}}";
}
std::string completion(const std::string& fields) {
  return R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"Hi")" +
         (fields.empty() ? "" : "," + fields) + "}}";
}
// A line of the short form with these sampling parameters.
std::string brief(const std::string& fields) {
  return R"({"custom_id":"a","prompt":"Hi","sampling_params":{)" + fields + "}}";
}

struct BadLine {
  const char* name;
  std::string text;
  std::string code;
  std::string param;
  std::string message;  // a part of it
};

// So that a failing case is printed by name.
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const BadLine& line, std::ostream* out) { *out << line.name; }

std::string name_of_case(const ::testing::TestParamInfo<BadLine>& test) { return test.param.name; }

class BadLines : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadLines, FailWithTheirCodePointerAndReason) {
  const BadLine& bad = GetParam();

  const BatchLine line = parse(bad.text);

  ASSERT_THAT(line.problems, SizeIs(1)) << bad.text;
  EXPECT_EQ(line.problems.front().code, bad.code);
  EXPECT_EQ(line.problems.front().param, bad.param);
  EXPECT_THAT(line.problems.front().message, HasSubstr(bad.message));
  EXPECT_EQ(line.number, 7);
}

const BadLine kNotJson[] = {
    {"Empty", "", "invalid_json_line", "", "not valid JSON"},
    {"Words", "hello", "invalid_json_line", "", "byte"},
    {"Truncated", R"({"prompt": "Hi)", "invalid_json_line", "", "byte"},
    {"TrailingComma", R"({"prompt":"Hi",})", "invalid_json_line", "", ""},
    {"TwoObjects", R"({"prompt":"a"}{"prompt":"b"})", "invalid_json_line", "", ""},
    {"Array", "[1]", "invalid_json_line", "", "must be a JSON object, is an array"},
    {"Number", "17", "invalid_json_line", "", "is 17"},
    {"NaN", brief(R"("temperature":NaN)"), "invalid_json_line", "", ""},
    {"Infinity", brief(R"("temperature":Infinity)"), "invalid_json_line", "", ""},
    {"MinusInfinity", brief(R"("temperature":-Infinity)"), "invalid_json_line", "", ""},
    {"HugeNumber", brief(R"("temperature":1e999)"), "invalid_json_line", "", ""},
    {"LoneHighSurrogate", R"({"prompt":"\ud800"})", "invalid_json_line", "", ""},
    {"LoneLowSurrogate", R"({"prompt":"\udc00x"})", "invalid_json_line", "", ""},
    {"NotUtf8", "{\"prompt\":\"\xC3\"}", "invalid_json_line", "", ""},
    {"ControlCharacter", "{\"prompt\":\"a\x01\"}", "invalid_json_line", "", ""},
    {"ByteOrderMark", "\xEF\xBB\xBF{\"prompt\":\"a\"}", "invalid_json_line", "", "byte order mark"},
    {"KeyTwice", R"({"prompt":"a","prompt":"b"})", "invalid_json_line", "",
     "\"prompt\" occurs twice"},
    {"InnerKeyTwice", brief(R"("n":1,"n":2)"), "invalid_json_line", "", "\"n\" occurs twice"},
    {"TooDeep", R"({"prompt":)" + std::string(500, '[') + std::string(500, ']') + "}",
     "invalid_json_line", "", "nested deeper than 100"},
    {"SingleQuotes", "{'prompt':'a'}", "invalid_json_line", "", ""},
    {"Comment", R"({"prompt":"a"} // no)", "invalid_json_line", "", ""},
};
INSTANTIATE_TEST_SUITE_P(NotJson, BadLines, ::testing::ValuesIn(kNotJson), name_of_case);

const BadLine kForms[] = {
    {"NoPrompt", R"({"custom_id":"a"})", "missing_field", "", "one of prompt"},
    {"NullPrompt", R"({"prompt":null})", "missing_field", "", "one of prompt"},
    {"TwoPrompts", R"({"prompt":"a","prompt_token_ids":[1]})", "conflicting_fields",
     "/prompt_token_ids", "exclude each other"},
    {"PromptAndBody",
     R"({"prompt":"a","method":"POST","url":"/v1/completions","body":{"prompt":"b"}})",
     "conflicting_fields", "/prompt", "body and prompt"},
    {"UnknownField", R"({"prompt":"a","pormpt":"b"})", "unknown_field", "/pormpt",
     "did you mean \"prompt\"?"},
    {"UnknownPointerIsEscaped", R"({"prompt":"a","x/y~z":1})", "unknown_field", "/x~1y~0z",
     "x/y~z"},
    {"CustomIdNumber", R"({"prompt":"a","custom_id":5})", "invalid_type", "/custom_id", "is 5"},
    {"NoMethod", R"({"url":"/v1/completions","body":{"prompt":"a"}})", "missing_field", "/method",
     ""},
    {"WrongMethod", R"({"method":"GET","url":"/v1/completions","body":{"prompt":"a"}})",
     "invalid_value", "/method", "GET"},
    {"NoBody", R"({"method":"POST","url":"/v1/completions"})", "missing_field", "/body", ""},
    {"BodyText", R"({"method":"POST","url":"/v1/completions","body":"x"})", "invalid_type", "/body",
     ""},
    {"WrongUrl",
     R"({"method":"POST","url":"/v1/embeddings","body":{"messages":[{"role":"user","content":"a"}]}})",
     "invalid_value", "/url", "/v1/embeddings"},
    {"EmptyIds", R"({"prompt_token_ids":[]})", "invalid_value", "/prompt_token_ids", "is empty"},
    {"IdsText", R"({"prompt_token_ids":"1,2"})", "invalid_type", "/prompt_token_ids", ""},
    {"IdFraction", R"({"prompt_token_ids":[1,2.5]})", "invalid_type", "/prompt_token_ids/1", ""},
    {"IdTrue", R"({"prompt_token_ids":[true]})", "invalid_type", "/prompt_token_ids/0", ""},
    {"IdNegative", R"({"prompt_token_ids":[1,-1]})", "token_out_of_range", "/prompt_token_ids/1",
     "-1"},
    {"IdHuge", R"({"prompt_token_ids":[2147483648]})", "token_out_of_range", "/prompt_token_ids/0",
     ""},
    {"ManyPrompts", R"({"prompt":["a","b"]})", "invalid_value", "/prompt", "2 prompts"},
    {"PromptNumber", R"({"prompt":5})", "invalid_type", "/prompt", ""},
    {"ToolsWithoutMessages", R"({"prompt":"a","tools":[]})", "conflicting_fields", "/tools", ""},
    {"ThinkingWithoutMessages", brief(R"("thinking":true)"), "conflicting_fields",
     "/sampling_params/thinking", "messages only"},
    {"ParamsArray", R"({"prompt":"a","sampling_params":[]})", "invalid_type", "/sampling_params",
     ""},
    {"PriorityText", R"({"prompt":"a","priority":"high"})", "invalid_type", "/priority", ""},
    {"DeadlineWord", R"({"prompt":"a","deadline":"soon"})", "invalid_value", "/deadline", "soon"},
    {"DeadlineNumber", R"({"prompt":"a","deadline":5})", "invalid_type", "/deadline", ""},
};
INSTANTIATE_TEST_SUITE_P(Forms, BadLines, ::testing::ValuesIn(kForms), name_of_case);

const BadLine kSampling[] = {
    {"TemperatureWord", chat(R"("temperature":"hot")"), "invalid_type", "/body/temperature", "hot"},
    {"TemperatureShort", brief(R"("temperature":-0.1)"), "invalid_value",
     "/sampling_params/temperature", "at least 0"},
    {"TopPZero", brief(R"("top_p":0)"), "invalid_value", "/sampling_params/top_p", "in (0, 1]"},
    {"TopPAboveOne", brief(R"("top_p":1.01)"), "invalid_value", "/sampling_params/top_p", ""},
    {"MinPOne", brief(R"("min_p":1)"), "invalid_value", "/sampling_params/min_p", "in [0, 1)"},
    {"TopKFraction", brief(R"("top_k":1.5)"), "invalid_type", "/sampling_params/top_k", "1.5"},
    {"TopKBelow", brief(R"("top_k":-2)"), "invalid_value", "/sampling_params/top_k", ""},
    {"MaxTokensZero", brief(R"("max_tokens":0)"), "invalid_value", "/sampling_params/max_tokens",
     "at least 1"},
    {"MaxTokensNegative", chat(R"("max_tokens":-1)"), "invalid_value", "/body/max_tokens", ""},
    {"MaxTokensText", chat(R"("max_tokens":"5")"), "invalid_type", "/body/max_tokens", ""},
    {"MaxTokensTrue", chat(R"("max_tokens":true)"), "invalid_type", "/body/max_tokens", "true"},
    {"MaxTokensBeyond64Bits", brief(R"("max_tokens":18446744073709551615)"), "invalid_value",
     "/sampling_params/max_tokens", "18446744073709551615"},
    {"MaxTokensAsHugeDouble", brief(R"("max_tokens":1e300)"), "invalid_value",
     "/sampling_params/max_tokens", ""},
    {"BothMaxTokens", chat(R"("max_tokens":5,"max_completion_tokens":5)"), "conflicting_fields",
     "/body/max_completion_tokens", ""},
    {"MinAboveMax", brief(R"("max_tokens":5,"min_tokens":6)"), "conflicting_fields",
     "/sampling_params/min_tokens", "above max_tokens"},
    {"FirstTokenTwo", brief(R"("first_n_token_no_eos":2)"), "invalid_value",
     "/sampling_params/first_n_token_no_eos", "0 to 1"},
    {"PresenceThree", chat(R"("presence_penalty":3)"), "invalid_value", "/body/presence_penalty",
     "in [-2, 2]"},
    {"RepetitionZero", brief(R"("repetition_penalty":0)"), "invalid_value",
     "/sampling_params/repetition_penalty", "above 0"},
    {"BiasArray", chat(R"("logit_bias":[1])"), "invalid_type", "/body/logit_bias", ""},
    {"BiasKey", chat(R"("logit_bias":{"cat":1})"), "invalid_value", "/body/logit_bias/cat",
     "not a token id"},
    {"BiasKeyNegative", chat(R"("logit_bias":{"-4":1})"), "invalid_value", "/body/logit_bias/-4",
     ""},
    {"BiasTooStrong", chat(R"("logit_bias":{"4":101})"), "invalid_value", "/body/logit_bias/4", ""},
    {"StopNumber", chat(R"("stop":5)"), "invalid_type", "/body/stop", ""},
    {"StopEmpty", chat(R"("stop":["a",""])"), "invalid_value", "/body/stop/1", "is empty"},
    {"StopIds", brief(R"("stop_token_ids":[1,-1])"), "invalid_value",
     "/sampling_params/stop_token_ids/1", ""},
    {"NZero", chat(R"("n":0)"), "invalid_value", "/body/n", "1 to 128"},
    {"SeedNegative", chat(R"("seed":-1)"), "invalid_value", "/body/seed", "at least 0"},
    {"BothSeeds", brief(R"("seed":1,"seq_seed":1)"), "conflicting_fields", "/sampling_params/seed",
     ""},
    {"ChatLogprobsNumber", chat(R"("logprobs":5)"), "invalid_type", "/body/logprobs", ""},
    {"CompletionLogprobsTrue", completion(R"("logprobs":true)"), "invalid_type", "/body/logprobs",
     ""},
    {"TopWithoutLogprobs", chat(R"("top_logprobs":5)"), "conflicting_fields", "/body/top_logprobs",
     ""},
    {"TopLogprobsMany", chat(R"("logprobs":true,"top_logprobs":1001)"), "invalid_value",
     "/body/top_logprobs", "0 to 1000"},
    {"LogprobsMode", brief(R"("logprobs_mode":"cooked")"), "invalid_value",
     "/sampling_params/logprobs_mode", ""},
    {"IgnoreEosNumber", brief(R"("ignore_eos":1)"), "invalid_type", "/sampling_params/ignore_eos",
     ""},
    {"Typo", chat(R"("temprature":1)"), "unknown_field", "/body/temprature",
     "did you mean \"temperature\"?"},
    {"PromptLogprobs", brief(R"("prompt_logprobs":1)"), "invalid_value",
     "/sampling_params/prompt_logprobs", "not built"},
    {"GoldenTokens", brief(R"("golden_token_ids":[1])"), "invalid_value",
     "/sampling_params/golden_token_ids", "not built"},
    {"SoArgs", brief(R"("so_args":{"regex":"a"})"), "invalid_value", "/sampling_params/so_args",
     "structured output"},
};
INSTANTIATE_TEST_SUITE_P(Sampling, BadLines, ::testing::ValuesIn(kSampling), name_of_case);

// A short chat with these messages.
std::string talk(const std::string& messages) { return R"({"messages":)" + messages + "}"; }

const BadLine kChats[] = {
    {"Stream", chat(R"("stream":true)"), "invalid_value", "/body/stream", ""},
    {"ModelNumber", chat(R"("model":4)"), "invalid_type", "/body/model", ""},
    {"PromptInChat", chat(R"("prompt":"x")"), "unknown_field", "/body/prompt", ""},
    {"ResponseFormat", chat(R"("response_format":{"type":"json_object"})"), "invalid_value",
     "/body/response_format", "structured output"},
    {"ToolChoiceRequired", chat(R"("tool_choice":"required")"), "invalid_value",
     "/body/tool_choice", "auto or none"},
    {"ToolChoiceName", chat(R"("tool_choice":{"type":"function"})"), "invalid_value",
     "/body/tool_choice", ""},
    {"ToolsObject", chat(R"("tools":{})"), "invalid_type", "/body/tools", ""},
    {"ToolWithoutFunction", chat(R"("tools":[{"type":"function"}])"), "missing_field",
     "/body/tools/0/function", ""},
    {"ToolWithoutName", chat(R"("tools":[{"function":{}}])"), "missing_field",
     "/body/tools/0/function/name", ""},
    {"ToolType", chat(R"("tools":[{"type":"web","function":{"name":"f"}}])"), "invalid_value",
     "/body/tools/0/type", ""},
    {"Effort", chat(R"("reasoning_effort":"medium")"), "invalid_value", "/body/reasoning_effort",
     "low, high, max"},
    {"EffortRange", chat(R"("reasoning_effort":101)"), "invalid_value", "/body/reasoning_effort",
     "1 to 100"},
    {"ThinkingWord", chat(R"("thinking":"yes")"), "invalid_type", "/body/thinking", ""},
    {"ThinkingForm", chat(R"("thinking":{"type":"auto"})"), "invalid_value", "/body/thinking", ""},
    {"ThinkingTwice", chat(R"("thinking":true,"enable_thinking":true)"), "conflicting_fields",
     "/body/enable_thinking", ""},
    {"NoMessages", talk("[]"), "invalid_value", "/messages", "is empty"},
    {"MessagesText", talk(R"("Hi")"), "invalid_type", "/messages", ""},
    {"MessageText", talk(R"(["Hi"])"), "invalid_type", "/messages/0", ""},
    {"NoRole", talk(R"([{"content":"Hi"}])"), "missing_field", "/messages/0/role", ""},
    {"Role", talk(R"([{"role":"robot","content":"Hi"}])"), "invalid_value", "/messages/0/role",
     "robot"},
    {"NoContent", talk(R"([{"role":"user"}])"), "missing_field", "/messages/0/content", ""},
    {"ContentNumber", talk(R"([{"role":"user","content":5}])"), "invalid_type",
     "/messages/0/content", ""},
    {"Image", talk(R"([{"role":"user","content":[{"type":"image_url"}]}])"), "invalid_value",
     "/messages/0/content/0/type", "image_url"},
    {"PartWithoutText", talk(R"([{"role":"user","content":[{"type":"text"}]}])"), "missing_field",
     "/messages/0/content/0/text", ""},
    {"MessageTypo", talk(R"([{"role":"user","content":"a","nmae":"b"}])"), "unknown_field",
     "/messages/0/nmae", "did you mean \"name\"?"},
};
INSTANTIATE_TEST_SUITE_P(Chats, BadLines, ::testing::ValuesIn(kChats), name_of_case);

TEST(BatchLine, ReadsEverySamplingParameter) {
  const BatchLine line = parse(brief(
      R"("max_tokens":5,"min_tokens":2,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,
         "presence_penalty":1,"frequency_penalty":-1,"repetition_penalty":1.1,
         "logit_bias":{"17":-100,"4":2.5},"stop":["a","b"],"stop_token_ids":[3],
         "include_stop_str_in_output":true,"ignore_eos":true,"skip_special_tokens":false,"n":3,
         "seq_seed":18446744073709551615,"logprobs":4,"logprobs_mode":"processed",
         "return_token_ids":true)"));

  ASSERT_THAT(line.problems, IsEmpty());
  const SamplingParams& params = line.request.sampling;
  EXPECT_EQ(params.max_tokens, 5);
  EXPECT_EQ(params.min_tokens, 2);
  EXPECT_DOUBLE_EQ(params.temperature, 0.5);
  EXPECT_DOUBLE_EQ(params.top_p, 0.9);
  EXPECT_EQ(params.top_k, 40);
  EXPECT_DOUBLE_EQ(params.min_p, 0.1);
  EXPECT_DOUBLE_EQ(params.presence_penalty, 1);
  EXPECT_DOUBLE_EQ(params.frequency_penalty, -1);
  EXPECT_DOUBLE_EQ(params.repetition_penalty, 1.1);
  EXPECT_DOUBLE_EQ(params.logit_bias.at(17), -100);
  EXPECT_DOUBLE_EQ(params.logit_bias.at(4), 2.5);
  EXPECT_THAT(params.stop, ElementsAre("a", "b"));
  EXPECT_THAT(params.stop_token_ids, ElementsAre(3));
  EXPECT_TRUE(params.include_stop_str_in_output);
  EXPECT_TRUE(params.ignore_eos);
  EXPECT_FALSE(params.skip_special_tokens);
  EXPECT_EQ(params.n, 3);
  EXPECT_EQ(params.seed, UINT64_MAX);
  EXPECT_EQ(params.logprobs, 4);
  EXPECT_EQ(params.logprobs_mode, LogprobsMode::kProcessed);
  EXPECT_TRUE(line.return_token_ids);
}

TEST(BatchLine, NullMeansAbsent) {
  const BatchLine line = parse(
      R"({"custom_id":null,"prompt":"Hi","messages":null,"sampling_params":{"max_tokens":null,"seed":null,"stop":null,"so_args":null}})");

  ASSERT_THAT(line.problems, IsEmpty());
  EXPECT_EQ(line.custom_id, std::nullopt);
  EXPECT_EQ(line.request.sampling.max_tokens, std::nullopt);
  EXPECT_EQ(line.request.sampling.seed, std::nullopt);
}

TEST(BatchLine, AWholeNumberMayBeWrittenAsAFraction) {
  const BatchLine line = parse(brief(R"("max_tokens":5.0,"top_k":-1)"));

  ASSERT_THAT(line.problems, IsEmpty());
  EXPECT_EQ(line.request.sampling.max_tokens, 5);
  EXPECT_EQ(line.request.sampling.top_k, 0);
}

TEST(BatchLine, AliasesMeanTheSame) {
  const BatchLine line =
      parse(chat(R"("max_completion_tokens":5,"seed":9,"first_n_token_no_eos":1,"stop":"x")"));

  ASSERT_THAT(line.problems, IsEmpty());
  EXPECT_EQ(line.request.sampling.max_tokens, 5);
  EXPECT_EQ(line.request.sampling.seed, 9U);
  EXPECT_EQ(line.request.sampling.min_tokens, 1);
  EXPECT_THAT(line.request.sampling.stop, ElementsAre("x"));
}

TEST(BatchLine, OpenAiFieldsWithoutMeaningHereAreTaken) {
  const BatchLine line = parse(chat(
      R"("model":"anything","user":"u","metadata":{"k":"v"},"stream":false,"response_format":{"type":"text"},"tool_choice":"auto")"));

  EXPECT_THAT(line.problems, IsEmpty());
  EXPECT_EQ(line.shape, RecordShape::kChat);
  EXPECT_EQ(line.form, LineForm::kOpenAi);
}

TEST(BatchLine, LogprobsOfAChatAreAFlagAndACount) {
  EXPECT_EQ(parse(chat(R"("logprobs":true,"top_logprobs":3)")).request.sampling.logprobs, 3);
  EXPECT_EQ(parse(chat(R"("logprobs":true)")).request.sampling.logprobs, 0);
  EXPECT_EQ(parse(chat(R"("logprobs":false)")).request.sampling.logprobs, std::nullopt);
  EXPECT_EQ(parse(completion(R"("logprobs":0)")).request.sampling.logprobs, 0);
  EXPECT_EQ(parse(brief(R"("logprobs":true,"top_logprobs":2)")).request.sampling.logprobs, 2);
}

TEST(BatchLine, ThinkingIsOnAtEffort75UnlessSaid) {
  const auto prompt = [](const std::string& fields) {
    return std::get<ChatPrompt>(parse(chat(fields)).request.prompt);
  };

  EXPECT_TRUE(prompt("").thinking);
  EXPECT_EQ(prompt("").reasoning_effort, 75);
  EXPECT_FALSE(prompt(R"("thinking":false)").thinking);
  EXPECT_FALSE(prompt(R"("thinking":{"type":"disabled"})").thinking);
  EXPECT_FALSE(prompt(R"("enable_thinking":false)").thinking);
  EXPECT_EQ(prompt(R"("reasoning_effort":"low")").reasoning_effort, 50);
  EXPECT_EQ(prompt(R"("reasoning_effort":"high")").reasoning_effort, 75);
  EXPECT_EQ(prompt(R"("reasoning_effort":"max")").reasoning_effort, 100);
  EXPECT_EQ(prompt(R"("reasoning_effort":1)").reasoning_effort, 1);
}

TEST(BatchLine, ToolsThatMustNotBeCalledAreNotShown) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}}])";
  const auto shown_tools = [](const std::string& fields) {
    return std::get<ChatPrompt>(parse(chat(fields)).request.prompt).tools;
  };

  EXPECT_THAT(shown_tools(tools), HasSubstr("\"f\""));
  EXPECT_EQ(shown_tools(tools + R"(,"tool_choice":"none")"), "");
}

TEST(BatchLine, PromptsComeAsTextIdsOrAnArrayOfOne) {
  EXPECT_EQ(std::get<TextPrompt>(parse(R"({"prompt":"a"})").request.prompt).text, "a");
  EXPECT_EQ(std::get<TextPrompt>(parse(R"({"prompt":["a"]})").request.prompt).text, "a");
  EXPECT_THAT(std::get<TokenPrompt>(parse(R"({"prompt":[1,2]})").request.prompt).ids,
              ElementsAre(1, 2));
  EXPECT_THAT(std::get<TokenPrompt>(parse(R"({"prompt":[[1,2]]})").request.prompt).ids,
              ElementsAre(1, 2));
  EXPECT_THAT(std::get<TokenPrompt>(parse(R"({"prompt_token_ids":[3]})").request.prompt).ids,
              ElementsAre(3));
}

TEST(BatchLine, PriorityAndDeadlineOfTheLineWinOverTheCommands) {
  LineDefaults defaults;
  defaults.priority = 4;
  defaults.deadline = defaults.now.steady + std::chrono::hours(1);

  const BatchLine plain = parse_batch_line(R"({"prompt":"a"})", 1, defaults);
  const BatchLine urgent =
      parse_batch_line(R"({"prompt":"a","priority":-1,"deadline":"30s"})", 2, defaults);

  EXPECT_EQ(plain.request.priority, 4);
  EXPECT_EQ(plain.request.deadline, defaults.deadline);
  EXPECT_EQ(urgent.request.priority, -1);
  EXPECT_EQ(urgent.request.deadline, defaults.now.steady + std::chrono::seconds(30));
}

TEST(BatchLine, ABadLineKeepsItsCustomIdAndNamesEveryProblem) {
  const BatchLine line = parse(chat(R"("temperature":-1,"top_p":2,"colour":1)"));

  EXPECT_EQ(line.custom_id, "a");
  EXPECT_THAT(line.problems, SizeIs(3));
}

TEST(BatchLine, PointersOfTheEngineAreThoseOfTheLine) {
  EXPECT_EQ(pointer_in_line(LineForm::kOpenAi, "/messages/0/role"), "/body/messages/0/role");
  EXPECT_EQ(pointer_in_line(LineForm::kShort, "/messages/0/role"), "/messages/0/role");
  EXPECT_EQ(pointer_in_line(LineForm::kShort, "/max_tokens"), "/sampling_params/max_tokens");
  EXPECT_EQ(pointer_in_line(LineForm::kShort, "/prompt"), "/prompt");
  EXPECT_EQ(pointer_in_line(LineForm::kShort, ""), "");
}

}  // namespace
}  // namespace deepinfer::cli
