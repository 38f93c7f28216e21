// Interruptions of every kind, and what --resume makes of them.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/finished_records.h"
#include "client/cli/json_text.h"
#include "client/cli/messages.h"
#include "tests/client/command_fixture.h"

namespace deepinfer::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kRequests = 6;

class Resume : public CommandTest {
 protected:
  Resume() {
    std::string text;
    for (int i = 0; i < kRequests; ++i) {
      const std::string prompt = i == 2 ? "fault" : "p" + std::to_string(i);
      text += R"({"custom_id":"r)" + std::to_string(i) + R"(","prompt":")" + prompt + "\"}\n";
    }
    write_input(text + R"({"custom_id":"bad","colour":1})" + "\n");
  }

  // Interrupts a fresh run after that many steps.
  void interrupt_after(int steps) {
    for (const char* name : {"out.jsonl", "out.errors.jsonl", "out.jsonl.partial",
                             "out.errors.jsonl.partial", "out.jsonl.resume.json"}) {
      std::filesystem::remove(folder / name);
    }
    ASSERT_EQ(run_batch_file({}, steps), 130);
  }

  // Every custom_id once in both files together.
  void expect_complete() {
    std::multiset<std::string> ids;
    for (const std::string& text : {output(), errors()}) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        const auto record = parse_json(line);
        ASSERT_TRUE(record.has_value()) << line;
        ids.insert(record->at("custom_id").get<std::string>());
      }
    }
    EXPECT_EQ(ids, (std::multiset<std::string>{"r0", "r1", "r2", "r3", "r4", "r5", "bad"}));
    EXPECT_FALSE(has("out.jsonl.partial"));
    EXPECT_FALSE(has("out.errors.jsonl.partial"));
    EXPECT_FALSE(has("out.jsonl.resume.json"));
  }
};

TEST_F(Resume, ContinuesAfterAnInterruptionAtEveryRecordWithoutRunningOneTwice) {
  for (int steps = 0; steps <= kRequests; ++steps) {
    interrupt_after(steps);
    const std::string before = content_of(folder / "out.jsonl.partial");
    const auto done = std::count(before.begin(), before.end(), '\n') + (steps > 2 ? 1 : 0);

    EXPECT_EQ(run_batch_file({"--resume"}), kExitSomeFailed);

    EXPECT_EQ(log.submitted.size(), static_cast<std::size_t>(kRequests - done)) << steps;
    EXPECT_EQ(output().substr(0, before.size()), before) << "finished records changed";
    expect_complete();
  }
}

TEST_F(Resume, AnInterruptionSaysHowToGoOn) {
  interrupt_after(3);

  EXPECT_THAT(err.str(), HasSubstr("interrupted by SIGINT with 4 of 7 requests done"));
  EXPECT_THAT(err.str(), HasSubstr("--resume"));
  EXPECT_FALSE(has("out.jsonl"));
}

TEST_F(Resume, ATornLastRecordIsLeftOutWhereverItWasTorn) {
  interrupt_after(4);
  const std::string whole = content_of(folder / "out.jsonl.partial");
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t length = last; length < whole.size(); ++length) {
    write_file(folder / "torn", whole.substr(0, length));
    FinishedLines lines;

    const auto read = read_finished(folder / "torn", lines);

    ASSERT_TRUE(read.has_value()) << length;
    EXPECT_EQ(read->count, 2) << length;
    EXPECT_EQ(read->whole_bytes, static_cast<std::int64_t>(last)) << length;
  }
}

TEST_F(Resume, ATornLastRecordIsRunAgain) {
  interrupt_after(4);
  const auto partial = folder / "out.jsonl.partial";
  const std::string whole = content_of(partial);
  write_file(partial, whole.substr(0, whole.size() - 1));

  EXPECT_EQ(run_batch_file({"--resume"}), kExitSomeFailed);

  EXPECT_EQ(log.submitted.size(), 3U);
  expect_complete();
}

TEST_F(Resume, ATornRecordOfTheErrorFileIsRunAgainToo) {
  interrupt_after(4);
  const auto partial = folder / "out.errors.jsonl.partial";
  const std::string whole = content_of(partial);
  write_file(partial, whole.substr(0, whole.size() - 5));

  EXPECT_EQ(run_batch_file({"--resume"}), kExitSomeFailed);

  expect_complete();
}

TEST_F(Resume, ACrashBetweenTheTwoMovesIsHealed) {
  interrupt_after(kRequests);
  std::filesystem::rename(folder / "out.errors.jsonl.partial", folder / "out.errors.jsonl");

  EXPECT_EQ(run_batch_file({"--resume"}), kExitSomeFailed);

  EXPECT_THAT(log.submitted, IsEmpty());
  expect_complete();
}

TEST_F(Resume, ACrashAfterBothMovesIsHealed) {
  interrupt_after(kRequests);
  std::filesystem::rename(folder / "out.errors.jsonl.partial", folder / "out.errors.jsonl");
  std::filesystem::rename(folder / "out.jsonl.partial", folder / "out.jsonl");

  EXPECT_EQ(run_batch_file({"--resume"}), kExitSomeFailed);

  EXPECT_THAT(log.submitted, IsEmpty());
  expect_complete();
}

TEST_F(Resume, ACompleteOutputIsLeftAsItIs) {
  ASSERT_EQ(run_batch_file(), kExitSomeFailed);
  const std::string before = output();

  EXPECT_EQ(run_batch_file({"--resume", "--json"}), kExitSomeFailed);

  EXPECT_THAT(log.submitted, IsEmpty());
  EXPECT_EQ(output(), before);
  EXPECT_THAT(out.str(), HasSubstr(R"("resumed":7)"));
  expect_complete();
}

TEST_F(Resume, ACompleteOutputOfAnotherInputIsRefused) {
  ASSERT_EQ(run_batch_file(), kExitSomeFailed);
  write_input(R"({"custom_id":"other","prompt":"x"})");

  EXPECT_EQ(run_batch_file({"--resume"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("not the output of this input"));
}

TEST_F(Resume, WithNothingToResumeTheRunBegins) {
  EXPECT_EQ(run_batch_file({"--resume"}), kExitSomeFailed);
  expect_complete();
}

TEST_F(Resume, AChangedInputIsRefused) {
  interrupt_after(3);
  write_input(content_of(folder / "in.jsonl") + R"({"prompt":"new"})");

  EXPECT_EQ(run_batch_file({"--resume"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("the input changed"));
}

TEST_F(Resume, AnotherShardIsRefused) {
  interrupt_after(3);

  EXPECT_EQ(run_batch_file({"--resume", "--shard", "1/2"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("as shard 1/1, not 1/2"));
}

TEST_F(Resume, WhatAnInterruptedRunLeftIsNotOverwrittenWithoutIt) {
  interrupt_after(3);
  const std::string before = content_of(folder / "out.jsonl.partial");

  EXPECT_EQ(run_batch_file(), kExitUsage);

  EXPECT_THAT(err.str(), HasSubstr("an interrupted run left this file"));
  EXPECT_EQ(content_of(folder / "out.jsonl.partial"), before);
}

TEST_F(Resume, DamageInsideARecordFileIsRefusedWithItsLine) {
  interrupt_after(4);
  const auto partial = folder / "out.jsonl.partial";
  write_file(partial, "rubbish\n" + content_of(partial));

  EXPECT_EQ(run_batch_file({"--resume"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("line 1 is not a record"));
}

TEST_F(Resume, ASecondRecordOfARequestIsRefused) {
  interrupt_after(2);
  const auto partial = folder / "out.jsonl.partial";
  write_file(partial, content_of(partial) + content_of(partial));

  EXPECT_EQ(run_batch_file({"--resume"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("second record of the same request"));
}

}  // namespace
}  // namespace deepinfer::cli
