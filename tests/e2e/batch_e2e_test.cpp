// What a user of `deepinfer batch` sees, with the nano checkpoint and the real program.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/e2e/nano.h"

namespace deepinfer::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A bad line each, with the code and the pointer that its record must have.
struct BadLine {
  std::string line;
  std::string code;
  std::string param;
};

const std::vector<BadLine>& bad_lines() {
  static const std::vector<BadLine> lines{
      {"this is not JSON", "invalid_json_line", ""},
      {"[1, 2]", "invalid_json_line", ""},
      {R"({"prompt":"a","sampling_params":{"temperature":NaN}})", "invalid_json_line", ""},
      {R"({"prompt":"a","sampling_params":{"temperature":1e999}})", "invalid_json_line", ""},
      {R"({"prompt":"\ud800"})", "invalid_json_line", ""},
      {R"({"prompt":"a","prompt":"b"})", "invalid_json_line", ""},
      {R"({"custom_id":"bad-0"})", "missing_field", ""},
      {R"({"custom_id":"bad-1","prompt":"a","colour":1})", "unknown_field", "/colour"},
      {R"({"custom_id":"bad-2","prompt":"a","sampling_params":{"temperature":"hot"}})",
       "invalid_type", "/sampling_params/temperature"},
      {R"({"custom_id":"bad-3","prompt":"a","sampling_params":{"max_tokens":0}})", "invalid_value",
       "/sampling_params/max_tokens"},
      {R"({"custom_id":"bad-4","prompt":"a","sampling_params":{"n":18446744073709551615}})",
       "invalid_value", "/sampling_params/n"},
      {R"({"custom_id":"bad-5","prompt":"a","prompt_token_ids":[1]})", "conflicting_fields",
       "/prompt_token_ids"},
      {R"({"custom_id":"bad-6","prompt_token_ids":[0,4096]})", "token_out_of_range",
       "/prompt_token_ids/1"},
      {R"({"custom_id":"bad-7","prompt_token_ids":[-1]})", "token_out_of_range",
       "/prompt_token_ids/0"},
      {R"({"custom_id":"bad-8","prompt":"a","sampling_params":{"so_args":{"regex":"a"}}})",
       "invalid_value", "/sampling_params/so_args"},
  };
  return lines;
}

std::string good_line(const std::string& id) {
  return R"({"custom_id":")" + id +
         R"(","messages":[{"role":"user","content":"What is the capital of France?"}],)"
         R"("sampling_params":{"temperature":0,"thinking":false,"max_tokens":20}})"
         "\n";
}

class BatchProgram : public NanoTest {};

// Golden: models/nano heldout/extraction.jsonl, greedy_ids.
TEST_F(BatchProgram, ExtractsTheHeldOutRecordsTokenForToken) {
  std::string text;
  std::map<std::string, json> expected;
  for (const json& item : heldout("extraction")) {
    if (!item.contains("greedy_ids")) continue;
    const std::string id = item.at("id");
    json line = {{"custom_id", id}};
    json params = {{"temperature", 0}, {"return_token_ids", true}};
    // Response formats wait for structured output; their prompts are given as ids.
    if (item.contains("response_format")) {
      line["prompt_token_ids"] = item.at("prompt_ids");
    } else {
      line["messages"] = item.at("messages");
      params["thinking"] = item.at("thinking");
      params["reasoning_effort"] = item.at("reasoning_effort");
    }
    line["sampling_params"] = params;
    text += line.dump() + "\n";
    expected[id] = item;
  }
  ASSERT_THAT(expected, SizeIs(15));
  write_input(text);

  const Finished finished = run(batch());

  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const auto records = records_in(folder / "out.jsonl");
  ASSERT_THAT(records, SizeIs(15));
  for (const json& record : records) {
    const json& item = expected.at(record.at("custom_id"));
    const json& body = record.at("response").at("body");
    EXPECT_EQ(body.at("prompt_token_ids"), item.at("prompt_ids")) << item.at("id");
    EXPECT_EQ(body.at("choices").at(0).at("token_ids"), item.at("greedy_ids")) << item.at("id");
    EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "stop");
    EXPECT_EQ(body.at("usage").at("completion_tokens"), item.at("greedy_ids").size());
    if (body.at("object") == "chat.completion" && !item.at("thinking").get<bool>()) {
      EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), item.at("expected"));
    }
  }
}

TEST_F(BatchProgram, BothOpenAiUrlsAnswerInTheirShapes) {
  write_input(
      R"({"custom_id":"chat","method":"POST","url":"/v1/chat/completions","body":{"model":"any","messages":[{"role":"user","content":"What is the capital of France?"}],"temperature":0,"thinking":false,"logprobs":true,"top_logprobs":2}})"
      "\n"
      R"({"custom_id":"text","method":"POST","url":"/v1/completions","body":{"prompt":"Tell me","temperature":0,"max_tokens":4}})"
      "\n");

  const Finished finished = run(batch());

  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  std::map<std::string, json> bodies;
  for (const json& record : records_in(folder / "out.jsonl")) {
    bodies[record.at("custom_id")] = record.at("response").at("body");
  }
  const json& choice = bodies.at("chat").at("choices").at(0);
  EXPECT_THAT(choice.at("message").at("content").get<std::string>(), HasSubstr("Paris"));
  EXPECT_EQ(choice.at("logprobs").at("content").at(0).at("top_logprobs").size(), 2U);
  EXPECT_EQ(bodies.at("text").at("object"), "text_completion");
  EXPECT_EQ(bodies.at("text").at("choices").at(0).at("finish_reason"), "length");
  EXPECT_EQ(bodies.at("text").at("usage").at("completion_tokens"), 4);
}

TEST_F(BatchProgram, BadLinesFailAloneWithTheirCodesAndTheOthersRun) {
  std::string text = "\xEF\xBB\xBF" + good_line("good-0");
  for (const BadLine& bad : bad_lines()) text += bad.line + "\r\n";
  write_input(text + "\n" + good_line("good-1"));

  const Finished finished = run(batch());

  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  EXPECT_THAT(records_in(folder / "out.jsonl"), SizeIs(2));
  const auto errors = records_in(folder / "out.errors.jsonl");
  ASSERT_THAT(errors, SizeIs(bad_lines().size()));
  for (const json& record : errors) {
    const std::size_t number = std::stoul(record.at("id").get<std::string>().substr(10));
    const BadLine& bad = bad_lines().at(number - 2);
    EXPECT_EQ(record.at("error").at("code"), bad.code) << bad.line;
    const json param = bad.param.empty() ? json(nullptr) : json(bad.param);
    EXPECT_EQ(record.at("error").at("param"), param) << bad.line;
    EXPECT_THAT(record.at("error").at("message").get<std::string>(),
                HasSubstr("line " + std::to_string(number)));
    EXPECT_EQ(record.at("response"), nullptr);
  }
}

TEST_F(BatchProgram, APromptLongerThanTheContextFailsAlone) {
  json ids = json::array();
  for (int i = 0; i < 5000; ++i) ids.push_back(300);
  write_input(json{{"custom_id", "long"}, {"prompt_token_ids", ids}}.dump() + "\n" +
              good_line("good"));

  const Finished finished = run(batch());

  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  EXPECT_THAT(records_in(folder / "out.jsonl"), SizeIs(1));
  const auto errors = records_in(folder / "out.errors.jsonl");
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors.front().at("error").at("code"), "prompt_too_long");
  EXPECT_THAT(errors.front().at("error").at("message").get<std::string>(), HasSubstr("5000"));
}

TEST_F(BatchProgram, ADeadlineThatHasPassedKeepsWhatThereIs) {
  write_input(R"({"custom_id":"late","prompt":"a","deadline":"2020-01-01T00:00:00Z"})");

  const Finished finished = run(batch());

  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  const auto errors = records_in(folder / "out.errors.jsonl");
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors.front().at("error").at("code"), "deadline");
  EXPECT_EQ(errors.front().at("response").at("status_code"), 504);
}

TEST_F(BatchProgram, FilesThatCannotBeUsedAreExitCode2AndOneLine) {
  const auto expect = [this](const std::string& part) {
    const Finished finished = run(batch());
    EXPECT_EQ(finished.exit_code, 2) << part;
    EXPECT_THAT(finished.err, StartsWith("deepinfer: error: "));
    EXPECT_THAT(finished.err, HasSubstr(part));
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    EXPECT_FALSE(has("out.jsonl.partial"));
  };

  expect("No such file");
  std::filesystem::create_directory(folder / "in.jsonl");
  expect("is a directory");
  std::filesystem::remove(folder / "in.jsonl");
  write_input("");
  expect("no requests");
  write_input(good_line("a") + good_line("b") + good_line("a"));
  expect("duplicate_custom_id: \"a\" on lines 1, 3");
  EXPECT_FALSE(has("out.jsonl"));
  write_input(good_line("a"));
  write_file(folder / "out.jsonl", "mine");
  expect("the file exists");
  EXPECT_EQ(content_of(folder / "out.jsonl"), "mine");
}

TEST_F(BatchProgram, AModelThatCannotBeUsedIsExitCode4) {
  write_input(good_line("a"));
  Invocation invocation = batch();
  invocation.words.back() = folder.path();

  const Finished finished = run(invocation);

  EXPECT_EQ(finished.exit_code, 4);
  EXPECT_THAT(finished.err, StartsWith("deepinfer: error: "));
  EXPECT_FALSE(has("out.jsonl"));
  EXPECT_FALSE(has("out.jsonl.partial"));
}

TEST_F(BatchProgram, WithoutEmbeddedTheDaemonIsMissing) {
  write_input(good_line("a"));

  const Finished finished =
      run({{DEEPINFER_PROGRAM, "batch", folder / "in.jsonl", "-o", folder / "out.jsonl"}, {}});

  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("--embedded --model DIR"));
}

TEST_F(BatchProgram, TheEnvironmentIsChecked) {
  write_input(good_line("a"));
  Invocation invocation = batch();
  invocation.environment = {{"DEEPINFER_USE_NEXTN_DECODE", "5"}, {"DEEPINFER_NONSENSE", "1"}};

  const Finished finished = run(invocation);

  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("speculative decoding is not built"));
  EXPECT_THAT(finished.err, HasSubstr("DEEPINFER_NONSENSE"));
}

TEST_F(BatchProgram, AFullDiskIsOneClearLineAndNothingAtTheFinalName) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += good_line("r" + std::to_string(i));
  write_input(text);
  Invocation invocation = batch();
  invocation.largest_file = 2000;

  const Finished finished = run(invocation);

  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("cannot be written: File too large"));
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  EXPECT_FALSE(has("out.jsonl"));
  // Whole records only, and with space again the run goes on from there.
  EXPECT_THAT(records_in(folder / "out.jsonl.partial"), Not(IsEmpty()));
  EXPECT_EQ(run(batch({"--resume"})).exit_code, 0);
  EXPECT_THAT(records_in(folder / "out.jsonl"), SizeIs(20));
}

}  // namespace
}  // namespace deepinfer::e2e
