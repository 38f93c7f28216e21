#include "client/cli/batch_command.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "client/cli/json_text.h"
#include "client/cli/messages.h"
#include "tests/client/command_fixture.h"

namespace deepinfer::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Batch : public CommandTest {};

std::string line(const std::string& id, const std::string& prompt) {
  return R"({"custom_id":")" + id + R"(","prompt":")" + prompt + "\"}\n";
}

std::int64_t lines_in(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST_F(Batch, WritesARecordForEveryRequest) {
  write_input(line("a", "one") + line("b", "two"));

  EXPECT_EQ(run_batch_file(), kExitDone);

  EXPECT_EQ(lines_in(output()), 2);
  EXPECT_THAT(output(), HasSubstr("answer to one"));
  EXPECT_FALSE(has("out.errors.jsonl"));
  EXPECT_FALSE(has("out.jsonl.partial"));
  EXPECT_FALSE(has("out.jsonl.resume.json"));
  EXPECT_THAT(err.str(), IsEmpty());
}

TEST_F(Batch, BadAndFailedLinesGoToTheErrorFileAndHarmNoOther) {
  write_input(line("a", "one") + "not json\n" + line("b", "refuse") + line("c", "fault") +
              line("d", "cancelled") + line("e", "deadline") + line("f", "two"));

  EXPECT_EQ(run_batch_file(), kExitSomeFailed);

  EXPECT_EQ(lines_in(output()), 2);
  EXPECT_EQ(lines_in(errors()), 5);
  EXPECT_THAT(errors(), HasSubstr("invalid_json_line"));
  EXPECT_THAT(errors(), HasSubstr("line 3: prompt of 9 tokens, 8 fit"));
  EXPECT_THAT(err.str(), StartsWith("deepinfer: error: 5 of 7 requests failed ("));
}

// Field report B010: a batch where every line fails has an empty output.
TEST_F(Batch, AnOutputWithoutSuccessesExistsAndIsEmpty) {
  const std::string bad = R"({"prompt":"a","sampling_params":{"max_tokens":-1}})";
  write_input(bad + "\n" + bad + "\n" + bad);

  EXPECT_EQ(run_batch_file(), kExitSomeFailed);

  EXPECT_TRUE(has("out.jsonl"));
  EXPECT_THAT(output(), IsEmpty());
  EXPECT_EQ(lines_in(errors()), 3);
}

TEST_F(Batch, ByteOrderMarkLineEndsAndBlankLinesAreForgiven) {
  write_input("\xEF\xBB\xBF" + line("a", "one") + "\r\n  \n" + R"({"prompt":"two"})" + "\r\n\n" +
              R"({"prompt":"three"})");

  EXPECT_EQ(run_batch_file(), kExitDone);

  EXPECT_EQ(lines_in(output()), 3);
  EXPECT_THAT(output(), HasSubstr(R"("id":"batch_req_4","custom_id":null)"));
}

// Field report B017: an empty file is an error of its own.
TEST_F(Batch, AFileWithoutRequestsIsAnError) {
  for (const std::string text : {"", "\n\n", "\xEF\xBB\xBF"}) {
    write_input(text);
    EXPECT_EQ(run_batch_file(), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("the file has no requests"));
    EXPECT_FALSE(has("out.jsonl"));
    EXPECT_FALSE(has("out.jsonl.partial"));
  }
}

// Field report B002: both lines are named, nothing runs.
TEST_F(Batch, ARepeatedCustomIdRefusesTheFileWithAllLineNumbers) {
  std::string text;
  for (int i = 0; i < 9; ++i) text += line("r" + std::to_string(i), "x");
  write_input(text + line("r3", "y"));

  EXPECT_EQ(run_batch_file(), kExitUsage);

  EXPECT_THAT(err.str(), HasSubstr("duplicate_custom_id: \"r3\" on lines 4, 10"));
  EXPECT_THAT(log.submitted, IsEmpty());
  EXPECT_FALSE(has("out.jsonl.partial"));
}

TEST_F(Batch, ABadLineTakesPartInTheSearchForRepeatedIds) {
  write_input(R"({"custom_id":"a","colour":1})"
              "\n" +
              line("a", "x"));

  EXPECT_EQ(run_batch_file(), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("\"a\" on lines 1, 2"));
}

TEST_F(Batch, AnExistingOutputIsRefusedAndKept) {
  write_input(line("a", "one"));
  write_file(folder / "out.jsonl", "mine");

  EXPECT_EQ(run_batch_file(), kExitUsage);

  EXPECT_EQ(output(), "mine");
  EXPECT_THAT(err.str(), HasSubstr("the file exists"));
  EXPECT_THAT(err.str(), HasSubstr("--resume"));
}

TEST_F(Batch, AnExistingErrorFileIsRefusedToo) {
  write_input(line("a", "one"));
  write_file(folder / "out.errors.jsonl", "mine");

  EXPECT_EQ(run_batch_file(), kExitUsage);
  EXPECT_EQ(errors(), "mine");
}

TEST_F(Batch, OneNameForTwoPurposesIsRefused) {
  write_input(line("a", "one"));

  EXPECT_EQ(run({"batch", folder / "in.jsonl", "-o", folder.path() / "." / "in.jsonl", "--embedded",
                 "--model", "m"}),
            kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("two purposes"));
  EXPECT_EQ(run_batch_file({"--errors", folder / "out.jsonl"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("two purposes"));
}

TEST_F(Batch, InputsThatCannotBeReadAreErrors) {
  EXPECT_EQ(run_batch_file(), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("No such file"));

  std::filesystem::create_directory(folder / "in.jsonl");
  EXPECT_EQ(run_batch_file(), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("is a directory"));
}

TEST_F(Batch, AnOutputFolderThatIsNotThereIsAnError) {
  write_input(line("a", "one"));

  EXPECT_EQ(run({"batch", folder / "in.jsonl", "-o", folder / "none/out.jsonl", "--embedded",
                 "--model", "m"}),
            kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("cannot create the file: No such file"));
}

TEST_F(Batch, WithoutEmbeddedNoDaemonCanBeReached) {
  write_input(line("a", "one"));
  connect_error = nobody_there();

  EXPECT_EQ(run({"batch", folder / "in.jsonl", "-o", folder / "out.jsonl"}), kExitNoDaemon);

  EXPECT_EQ(err.str(),
            "deepinfer: error: no daemon can be reached (/run/x.sock): start one with deepinferd "
            "--model DIR, or add --embedded --model DIR to run without one\n");
  EXPECT_FALSE(has("out.jsonl.partial"));
  EXPECT_FALSE(has("out.jsonl.resume.json"));
}

TEST_F(Batch, TheModelMayComeFromTheEnvironment) {
  write_input(line("a", "one"));
  const std::vector<std::string> words{"batch", folder / "in.jsonl", "-o", folder / "out.jsonl",
                                       "--embedded"};

  EXPECT_EQ(run(words), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("no model is named"));
  environment = {{"DEEPINFER_MODEL__PATH", "/models/x"}, {"DEEPINFER_ENGINE__THREADS", "3"}};
  EXPECT_EQ(run(words), kExitDone);
  EXPECT_EQ(opened.model, "/models/x");
  EXPECT_EQ(opened.threads, 3);
}

TEST_F(Batch, EveryProblemOfFlagsAndEnvironmentIsReportedAtOnce) {
  write_input(line("a", "one"));
  environment = {{"DEEPINFER_USE_NEXTN_DECODE", "5"}, {"DEEPINFER_NONSENSE", "1"}};

  EXPECT_EQ(run_batch_file({"--shard", "5/4", "--deadline", "soon"}), kExitUsage);

  EXPECT_EQ(lines_in(err.str()), 4);
  EXPECT_FALSE(has("out.jsonl.partial"));
}

TEST_F(Batch, AModelThatCannotBeUsedIsExitCode4WithEveryProblem) {
  write_input(line("a", "one"));
  open_error = {EngineFault::kModel, "a", "b", "c", {"first (x): y", "second (x): y"}};

  EXPECT_EQ(run_batch_file(), 4);

  EXPECT_THAT(err.str(), HasSubstr("deepinfer: error: first (x): y\ndeepinfer: error: second"));
  EXPECT_FALSE(has("out.jsonl.partial"));
  EXPECT_FALSE(has("out.jsonl.resume.json"));
}

TEST_F(Batch, ShardsTakeEveryNthRequestAndMergeAgain) {
  std::string text;
  for (int i = 0; i < 7; ++i) text += line("r" + std::to_string(i), "x") + "\n";
  write_input(text);
  std::vector<std::string> merge{"merge", "-o", folder / "all.jsonl"};
  for (const std::string part : {"1", "2", "3"}) {
    const std::string shard = folder / ("s" + part + ".jsonl");
    EXPECT_EQ(run({"batch", folder / "in.jsonl", "-o", shard, "--embedded", "--model", "m",
                   "--progress", "none", "--shard", part + "/3"}),
              kExitDone);
    merge.push_back(shard);
  }
  EXPECT_THAT(log.submitted, ElementsAre("r2", "r5"));

  EXPECT_EQ(run(merge), kExitDone);

  const std::string all = content_of(folder / "all.jsonl");
  EXPECT_EQ(lines_in(all), 7);
  for (int i = 0; i < 7; ++i) EXPECT_THAT(all, HasSubstr("\"r" + std::to_string(i) + "\""));
  merge.push_back(merge.back());
  merge[2] = folder / "again.jsonl";
  EXPECT_EQ(run(merge), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("second record"));
  EXPECT_FALSE(has("again.jsonl"));
  EXPECT_FALSE(has("again.jsonl.partial"));
}

TEST_F(Batch, TheSummaryCountsRequestsAsOpenAiDoes) {
  write_input(line("a", "one") + line("b", "fault") + line("c", "three"));

  EXPECT_EQ(run_batch_file({"--json"}), kExitSomeFailed);

  const auto summary = parse_json(out.str());
  ASSERT_TRUE(summary.has_value()) << out.str();
  EXPECT_EQ(summary->at("state"), "completed");
  EXPECT_EQ(summary->at("request_counts").at("total"), 3);
  EXPECT_EQ(summary->at("request_counts").at("completed"), 2);
  EXPECT_EQ(summary->at("request_counts").at("failed"), 1);
  EXPECT_EQ(summary->at("request_counts").at("resumed"), 0);
  EXPECT_EQ(summary->at("usage").at("completion_tokens"), 9);
}

// Field report B006: requests are made as they are needed.
TEST_F(Batch, OnlyAWindowOfRequestsIsInFlight) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += line("r" + std::to_string(i), "x");
  write_input(text);
  environment = {{"DEEPINFER_ENGINE__MAX_SEQUENCES", "2"}};

  // Stopped at the third look: one by the check of the input, two by steps with a full window.
  EXPECT_EQ(run_batch_file({}, 1), 130);

  EXPECT_LE(log.submitted.size(), 6U);
}

TEST_F(Batch, PlainProgressIsALineNow) {
  write_input(line("a", "one"));

  EXPECT_EQ(run({"batch", folder / "in.jsonl", "-o", folder / "out.jsonl", "--embedded", "--model",
                 "m", "--progress", "plain"}),
            kExitDone);

  EXPECT_THAT(err.str(), HasSubstr("deepinfer: 1/1 requests, 0 failed, prefill"));
  EXPECT_THAT(err.str(), Not(HasSubstr("\r")));
}

TEST_F(Batch, UsageErrorsAreOneLineEach) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"weather"}, "unknown command weather"},
      {{"batsh", "x"}, "did you mean batch?"},
      {{}, "subcommand is required"},
      {{"batch"}, "required"},
      {{"batch", "a", "-o", "b", "--progess", "none"}, "did you mean --progress?"},
      {{"batch", "a", "-o", "b", "--progress", "loud"}, "loud"},
      {{"batch", "a", "-o", "b", "--priority", "high"}, "high"},
      {{"batch", "a", "-o", "b", "--model", "m"}, "--embedded"},
      {{"batch", "a", "-o", "b", "--embedded", "--model", "m", "--socket", "s"}, "excludes"},
      {{"generate", "--prompt", "a", "--prompt-file", "b"}, "1"},
      {{"merge", "-o", "x"}, "required"},
  };
  for (const auto& [words, part] : cases) {
    EXPECT_EQ(run(words), kExitUsage) << part;
    EXPECT_THAT(err.str(), HasSubstr(part));
    EXPECT_THAT(err.str(), StartsWith("deepinfer: error: "));
    EXPECT_EQ(lines_in(err.str()), 1) << err.str();
  }
}

TEST_F(Batch, HelpAndVersionWorkEverywhere) {
  for (const std::string command : {"batch", "generate", "merge", "status", "jobs", "job", "cancel",
                                    "drain", "undrain", "bench"}) {
    EXPECT_EQ(run({command, "--help"}), kExitDone);
    EXPECT_THAT(out.str(), HasSubstr("--help"));
    EXPECT_EQ(run({command, "--version"}), kExitDone);
    EXPECT_THAT(out.str(), StartsWith("deepinfer "));
  }
  EXPECT_EQ(run({"--help"}), kExitDone);
  EXPECT_THAT(out.str(), HasSubstr("batch"));
  EXPECT_EQ(run({"--version"}), kExitDone);
  EXPECT_THAT(out.str(), StartsWith("deepinfer "));
}

}  // namespace
}  // namespace deepinfer::cli
