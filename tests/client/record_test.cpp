#include "client/cli/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "client/cli/json_text.h"

namespace deepinfer::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

RecordContext context(RecordShape shape) {
  RecordContext result;
  result.line = 3;
  result.custom_id = "a";
  result.shape = shape;
  return result;
}

RequestResult result_with(const Choice& choice) {
  RequestResult result;
  result.prompt_tokens = {0, 5, 6};
  result.choices = {choice};
  return result;
}

Choice stopped() {
  Choice choice;
  choice.reason = FinishReason::kStop;
  choice.text = "raw";
  choice.content = "parsed";
  choice.tokens = {7, 8, 1};
  choice.seed = 18446744073709551615U;
  return choice;
}

json parsed(const Record& record) {
  auto document = parse_json(record.text);
  if (!document) return nullptr;
  return *std::move(document);
}

std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(Record, ASuccessHasTheShapeOfAnOpenAiBatchResponse) {
  const Record record = record_of_result(context(RecordShape::kChat), result_with(stopped()), {});
  const json object = parsed(record);

  EXPECT_TRUE(record.is_success);
  EXPECT_EQ(object.at("id"), "batch_req_3");
  EXPECT_EQ(object.at("custom_id"), "a");
  EXPECT_EQ(object.at("error"), nullptr);
  EXPECT_EQ(object.at("response").at("status_code"), 200);
  const json& body = object.at("response").at("body");
  EXPECT_EQ(body.at("object"), "chat.completion");
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "parsed");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(body.at("choices").at(0).at("seed"), 18446744073709551615U);
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 3);
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 3);
  EXPECT_EQ(body.at("usage").at("total_tokens"), 6);
}

TEST(Record, ACompletionHasTextInsteadOfAMessage) {
  const Record record =
      record_of_result(context(RecordShape::kCompletion), result_with(stopped()), {});
  const json body = parsed(record).at("response").at("body");

  EXPECT_EQ(body.at("object"), "text_completion");
  EXPECT_EQ(body.at("choices").at(0).at("text"), "raw");
}

// Field report B013: a stable schema, whichever way a request ends.
TEST(Record, KeysAreTheSameWhicheverWayARequestEnds) {
  BatchLine bad;
  bad.number = 3;
  bad.problems.push_back({"invalid_type", "temperature must be a number", "/body/temperature"});
  Choice failed = stopped();
  failed.reason = FinishReason::kError;
  const std::vector<Record> records{
      record_of_result(context(RecordShape::kChat), result_with(stopped()), {}),
      record_of_result(context(RecordShape::kChat), result_with(failed), {}),
      record_of_problems(bad),
      record_of_refusal(context(RecordShape::kChat), {"prompt_too_long", "9 tokens, 8 fit", ""}),
  };

  for (const Record& record : records) {
    EXPECT_THAT(keys_of(parsed(record)), ElementsAre("custom_id", "error", "id", "response"));
  }
}

// Field report B016: a refused line never looks like a success.
TEST(Record, ABadLineHasAnErrorWithPointerAndLineNumberAndNoResponse) {
  BatchLine bad;
  bad.number = 12;
  bad.custom_id = "x";
  bad.problems.push_back({"invalid_type", "temperature must be a number", "/body/temperature"});
  bad.problems.push_back({"unknown_field", "unknown field \"y\"", "/body/y"});

  const Record record = record_of_problems(bad);
  const json object = parsed(record);

  EXPECT_FALSE(record.is_success);
  EXPECT_EQ(object.at("response"), nullptr);
  EXPECT_EQ(object.at("error").at("code"), "invalid_type");
  EXPECT_EQ(object.at("error").at("param"), "/body/temperature");
  EXPECT_EQ(object.at("error").at("message"),
            "line 12: temperature must be a number; unknown field \"y\" (/body/y)");
}

TEST(Record, ACutRequestHasBothAnErrorAndTheTextSoFar) {
  const auto record_with = [](FinishReason reason) {
    Choice choice = stopped();
    choice.reason = reason;
    return record_of_result(context(RecordShape::kCompletion), result_with(choice), {});
  };

  const json cancelled = parsed(record_with(FinishReason::kCancelled));
  const json late = parsed(record_with(FinishReason::kDeadline));

  EXPECT_FALSE(record_with(FinishReason::kCancelled).is_success);
  EXPECT_EQ(cancelled.at("error").at("code"), "cancelled");
  EXPECT_EQ(cancelled.at("response").at("status_code"), 499);
  EXPECT_EQ(late.at("error").at("code"), "deadline");
  EXPECT_EQ(late.at("response").at("status_code"), 504);
  EXPECT_EQ(late.at("response").at("body").at("choices").at(0).at("text"), "raw");
}

TEST(Record, AnEngineErrorKeepsItsCodeAndPointsIntoTheLine) {
  Choice choice = stopped();
  choice.reason = FinishReason::kError;
  choice.error = RequestError{"model_fault", "not finite", "/max_tokens"};
  RecordContext openai = context(RecordShape::kChat);
  openai.form = LineForm::kOpenAi;

  const json object = parsed(record_of_result(openai, result_with(choice), {}));

  EXPECT_EQ(object.at("error").at("code"), "model_fault");
  EXPECT_EQ(object.at("error").at("param"), "/body/max_tokens");
  EXPECT_EQ(object.at("response").at("status_code"), 500);
}

TEST(Record, TokenIdsAppearOnlyWhenAskedFor) {
  RecordContext asked = context(RecordShape::kChat);
  asked.return_token_ids = true;

  const json with = parsed(record_of_result(asked, result_with(stopped()), {}));
  const json without =
      parsed(record_of_result(context(RecordShape::kChat), result_with(stopped()), {}));

  EXPECT_EQ(with.at("response").at("body").at("prompt_token_ids"), json({0, 5, 6}));
  EXPECT_EQ(with.at("response").at("body").at("choices").at(0).at("token_ids"), json({7, 8, 1}));
  EXPECT_FALSE(without.at("response").at("body").contains("prompt_token_ids"));
}

// Field report B106: an answer that ended inside the thinking says so.
TEST(Record, AnAnswerCutInsideTheThinkingCarriesAWarning) {
  RecordContext thinking = context(RecordShape::kChat);
  thinking.thinking = true;
  Choice choice = stopped();
  choice.reason = FinishReason::kLength;
  choice.content.clear();
  choice.reasoning_content = "Let me see";
  choice.reasoning_tokens = 3;

  const json body =
      parsed(record_of_result(thinking, result_with(choice), {})).at("response").at("body");

  EXPECT_EQ(body.at("warnings"), json({"truncated_in_reasoning"}));
  EXPECT_EQ(body.at("thinking"), true);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "");
  EXPECT_EQ(body.at("choices").at(0).at("message").at("reasoning_content"), "Let me see");
  EXPECT_EQ(body.at("usage").at("completion_tokens_details").at("reasoning_tokens"), 3);
}

TEST(Record, ToolCallsHaveIdsAndArgumentsAsText) {
  Choice choice = stopped();
  choice.reason = FinishReason::kToolCalls;
  choice.tool_calls = {{"get_weather", R"({"city": "Oslo"})"}};

  const json body = parsed(record_of_result(context(RecordShape::kChat), result_with(choice), {}))
                        .at("response")
                        .at("body");

  const json& call = body.at("choices").at(0).at("message").at("tool_calls").at(0);
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "tool_calls");
  EXPECT_EQ(call.at("id"), "call_3_0_0");
  EXPECT_EQ(call.at("function").at("arguments"), R"({"city": "Oslo"})");
}

TEST(Record, LogprobsKeepTheBytesThatAreNoText) {
  Choice choice = stopped();
  choice.logprobs = {{7, -0.5F, "\xC3"}, {8, -std::numeric_limits<float>::infinity(), "b"}};
  choice.top_logprobs = {{{9, -0.25F, "c"}}, {}};

  const json content =
      parsed(record_of_result(context(RecordShape::kChat), result_with(choice), {}))
          .at("response")
          .at("body")
          .at("choices")
          .at(0)
          .at("logprobs")
          .at("content");

  EXPECT_EQ(content.at(0).at("bytes"), json({0xC3}));
  EXPECT_EQ(content.at(0).at("token"), "\xEF\xBF\xBD");
  EXPECT_EQ(content.at(0).at("top_logprobs").at(0).at("token"), "c");
  EXPECT_EQ(content.at(1).at("logprob"), -9999.0);
}

TEST(Record, StopReasonsNameWhatEndedTheText) {
  Choice by_string = stopped();
  by_string.stop_string = "END";
  Choice by_token = stopped();
  by_token.stop_token = 17;
  RequestResult result = result_with(by_string);
  result.choices.push_back(by_token);
  result.choices.push_back(stopped());

  const json choices = parsed(record_of_result(context(RecordShape::kCompletion), result, {}))
                           .at("response")
                           .at("body")
                           .at("choices");

  EXPECT_EQ(choices.at(0).at("stop_reason"), "END");
  EXPECT_EQ(choices.at(1).at("stop_reason"), 17);
  EXPECT_EQ(choices.at(2).at("stop_reason"), nullptr);
}

TEST(Record, AnIdLeadsBackToItsLine) {
  EXPECT_EQ(line_of_record_id("batch_req_17"), 17);
  for (const std::string id : {"", "batch_req_", "batch_req_0", "batch_req_1x", "req_1"}) {
    EXPECT_EQ(line_of_record_id(id), std::nullopt) << id;
  }
}

}  // namespace
}  // namespace deepinfer::cli
