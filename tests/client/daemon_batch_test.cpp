// `deepinfer batch` with a daemon: the same records as embedded, and what else a daemon may do.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/json_text.h"
#include "client/cli/messages.h"
#include "tests/client/command_fixture.h"

namespace deepinfer::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string line(const std::string& id, const std::string& prompt) {
  return R"({"custom_id":")" + id + R"(","prompt":")" + prompt + "\"}\n";
}

std::int64_t lines_in(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

class DaemonBatch : public CommandTest {
 protected:
  void write_requests(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line("r" + std::to_string(i), "p" + std::to_string(i));
    write_input(text);
  }

  static std::vector<std::string> sorted_lines(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string one; std::getline(stream, one);) lines.push_back(one);
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  // Every request once, none failed.
  void expect_complete(int count) {
    EXPECT_THAT(sorted_lines(output()), SizeIs(count));
    for (int i = 0; i < count; ++i) {
      EXPECT_THAT(output(), HasSubstr("\"r" + std::to_string(i) + "\""));
    }
    EXPECT_FALSE(has("out.errors.jsonl"));
    EXPECT_FALSE(has("out.jsonl.partial"));
    EXPECT_FALSE(has("out.jsonl.resume.json"));
  }
};

TEST_F(DaemonBatch, GivesTheRecordsOfTheEmbeddedEngineByteForByte) {
  write_input(
      line("a", "one") + "not json\n" + line("b", "refuse") + line("c", "fault") +
      line("d", "cancelled") + line("e", "deadline") + line("f", "length") +
      R"({"custom_id":"g","prompt":"x","sampling_params":{"n":2,"return_token_ids":true}})");
  ASSERT_EQ(run_batch_file(), kExitSomeFailed);
  const auto good = sorted_lines(output());
  const auto bad = sorted_lines(errors());
  std::filesystem::remove(folder / "out.jsonl");
  std::filesystem::remove(folder / "out.errors.jsonl");

  EXPECT_EQ(run_daemon_batch(), kExitSomeFailed);

  EXPECT_EQ(sorted_lines(output()), good);
  EXPECT_EQ(sorted_lines(errors()), bad);
  EXPECT_TRUE(log.is_finished);
}

TEST_F(DaemonBatch, ALateRefusalIsTheRecordOfAnEarlyOne) {
  write_input(line("a", "refuse") + line("b", "one"));
  ASSERT_EQ(run_daemon_batch(), kExitSomeFailed);
  const std::string early = errors();
  std::filesystem::remove(folder / "out.jsonl");
  std::filesystem::remove(folder / "out.errors.jsonl");
  write_input(line("a", "refuse later") + line("b", "one"));

  EXPECT_EQ(run_daemon_batch(), kExitSomeFailed);

  EXPECT_EQ(errors(), early);
  EXPECT_THAT(early, HasSubstr("line 1: prompt of 9 tokens, 8 fit"));
}

TEST_F(DaemonBatch, OpensAJobNamedAfterTheInputWithoutAStream) {
  write_requests(2);

  EXPECT_EQ(run_daemon_batch({"--shard", "2/2", "--socket", "/run/mine.sock"}), kExitDone);

  ASSERT_TRUE(session && session->job);
  EXPECT_EQ(session->job->name, "in.jsonl");
  EXPECT_EQ(session->job->metadata.at("shard"), "2/2");
  EXPECT_EQ(session->job->on_disconnect, OnDisconnect::kCancel);
  EXPECT_FALSE(session->stream);
  EXPECT_EQ(session->socket, "/run/mine.sock");
  EXPECT_EQ(session->client, "deepinfer batch");
}

TEST_F(DaemonBatch, AJobsNameIsCutBetweenLettersAndMadeUtf8) {
  const auto name_of_job = [this](const std::string& name) {
    write_file(folder / name, line("a", "one"));
    std::filesystem::remove(folder / "o.jsonl");
    EXPECT_EQ(run({"batch", folder / name, "-o", folder / "o.jsonl", "--progress", "none"}),
              kExitDone)
        << err.str();
    return session->job->name;
  };

  EXPECT_EQ(name_of_job("\xff.jsonl"), "\xef\xbf\xbd.jsonl");
  // 85 of them are 255 bytes as they are; as U+FFFD each has three.
  const std::string replaced = name_of_job(std::string(200, '\xfe'));
  EXPECT_EQ(replaced.size(), 255U);
}

TEST_F(DaemonBatch, TheJobsIdIsInTheSummaryAndInTheFirstLine) {
  write_requests(1);

  EXPECT_EQ(run({"batch", folder / "in.jsonl", "-o", folder / "out.jsonl", "--progress", "plain",
                 "--json"}),
            kExitDone);

  EXPECT_THAT(err.str(), StartsWith("deepinfer: " + std::string(kJobText) + ": 1 requests of "));
  const auto summary = parse_json(out.str());
  ASSERT_TRUE(summary.has_value()) << out.str();
  EXPECT_EQ(summary->at("job"), kJobText);
  EXPECT_EQ(summary->at("state"), "completed");
}

TEST_F(DaemonBatch, WithoutProgressNobodyAsksForStatistics) {
  write_requests(20);

  EXPECT_EQ(run_daemon_batch(), kExitDone);

  EXPECT_EQ(log.stats_asked, 0);
  EXPECT_THAT(err.str(), IsEmpty());
}

TEST_F(DaemonBatch, OnlyAWindowOfRequestsIsInFlight) {
  write_requests(50);

  EXPECT_EQ(run_daemon_batch(), kExitDone);

  EXPECT_EQ(log.most_in_flight, 8U);
  expect_complete(50);
}

TEST_F(DaemonBatch, RequestsRefusedForWantOfRoomAreSubmittedAgain) {
  write_requests(30);
  script.room = 3;

  EXPECT_EQ(run_daemon_batch(), kExitDone);

  expect_complete(30);
  EXPECT_THAT(log.submitted, SizeIs(30));
  // What is refused is a small part of what is asked.
  EXPECT_LT(log.submissions, 60);
  EXPECT_THAT(err.str(), IsEmpty());
}

TEST_F(DaemonBatch, AFullDaemonIsWaitedForWithGrowingPausesAndOneWarning) {
  write_requests(3);
  script.refusals_first = 12;

  EXPECT_EQ(run_daemon_batch(), kExitDone);

  expect_complete(3);
  EXPECT_GT(pauses, 10);
  EXPECT_EQ(lines_in(err.str()), 1);
  EXPECT_THAT(err.str(), StartsWith("deepinfer: warning: the daemon has no room"));
  EXPECT_GE(clock.now().time_since_epoch(), std::chrono::seconds(5));
}

TEST_F(DaemonBatch, ASignalEndsTheWaitForAFullDaemon) {
  write_requests(3);
  script.refusals_first = 1'000'000;

  EXPECT_EQ(run_daemon_batch({}, 20), 130);

  EXPECT_THAT(err.str(), HasSubstr("with 0 of 3 requests done"));
  EXPECT_FALSE(has("out.jsonl"));
  script = {};
  EXPECT_EQ(run_daemon_batch({"--resume"}), kExitDone);
  expect_complete(3);
}

TEST_F(DaemonBatch, ADrainingDaemonFinishesWhatItAcceptedAndResumeDoesTheRest) {
  write_requests(20);
  script.drains_after = 5;

  EXPECT_EQ(run_daemon_batch({"--json"}), kExitRefused);

  EXPECT_EQ(lines_in(content_of(folder / "out.jsonl.partial")), 5);
  EXPECT_FALSE(has("out.jsonl"));
  EXPECT_FALSE(has("out.errors.jsonl.partial"));
  EXPECT_EQ(lines_in(err.str()), 1);
  EXPECT_THAT(err.str(),
              StartsWith("deepinfer: error: draining: the daemon takes no more requests, "
                         "with 5 of 20 requests done (/run/x.sock): "));
  EXPECT_THAT(err.str(), HasSubstr("--resume"));
  EXPECT_THAT(out.str(), HasSubstr(R"("state":"interrupted")"));
  EXPECT_TRUE(log.is_finished);
  script = {};
  EXPECT_EQ(run_daemon_batch({"--resume"}), kExitDone);
  EXPECT_THAT(log.submitted, SizeIs(15));
  expect_complete(20);
}

TEST_F(DaemonBatch, RequestsLostWithTheirDaemonHaveNoRecordAndResumeRunsThem) {
  write_requests(20);
  script.goes_away_after = 7;

  EXPECT_EQ(run_daemon_batch(), kExitNoDaemon);

  EXPECT_EQ(lines_in(content_of(folder / "out.jsonl.partial")), 7);
  EXPECT_FALSE(has("out.errors.jsonl.partial"));
  EXPECT_TRUE(has("out.jsonl.resume.json"));
  EXPECT_EQ(err.str(),
            "deepinfer: error: the daemon went away, with 7 of 20 requests done (/run/x.sock): "
            "start it again, then run the same command with --resume to continue\n");
  EXPECT_FALSE(log.is_finished);
  script = {};
  EXPECT_EQ(run_daemon_batch({"--resume"}), kExitDone);
  EXPECT_THAT(log.submitted, SizeIs(13));
  expect_complete(20);
}

TEST_F(DaemonBatch, WhatWasNotAcceptedOfACancelledJobIsRecordedAsCancelled) {
  write_input(line("a", "one") + line("b", "cancelled") + line("c", "of a cancelled job"));

  EXPECT_EQ(run_daemon_batch(), kExitSomeFailed);

  EXPECT_EQ(lines_in(output()), 1);
  EXPECT_THAT(errors(), HasSubstr(R"("custom_id":"c","response":null,"error":{"code":"cancelled",)"
                                  R"("message":"line 3: the job was cancelled before )"));
}

TEST_F(DaemonBatch, ADaemonThatGoesAwayWhileItDrainsIsLost) {
  write_requests(20);
  script.drains_after = 5;
  script.goes_away_after = 2;

  EXPECT_EQ(run_daemon_batch(), kExitNoDaemon);

  EXPECT_EQ(lines_in(content_of(folder / "out.jsonl.partial")), 2);
}

TEST_F(DaemonBatch, ARunBegunEmbeddedMayBeResumedByADaemon) {
  write_requests(6);
  ASSERT_EQ(run_batch_file({}, 2), 130);

  EXPECT_EQ(run_daemon_batch({"--resume"}), kExitDone);

  expect_complete(6);
}

TEST_F(DaemonBatch, WhatTheSdkRefusesIsSaidInItsWords) {
  write_requests(1);
  connect_error =
      ClientError{ClientFault::kRefused, "draining", "the daemon is draining and takes no new jobs",
                  "/run/x.sock", "wait until it is back"};

  EXPECT_EQ(run_daemon_batch(), kExitRefused);

  EXPECT_EQ(err.str(),
            "deepinfer: error: draining: the daemon is draining and takes no new jobs "
            "(/run/x.sock): wait until it is back\n");
  EXPECT_FALSE(has("out.jsonl.partial"));
}

TEST_F(DaemonBatch, TheSocketMayComeFromTheEnvironmentWhoseOtherSettingsDoNotMatter) {
  write_requests(1);
  environment = {{"DEEPINFER_USE_NEXTN_DECODE", "5"},
                 {"DEEPINFER_ENGINE__THREADS", "many"},
                 {"DEEPINFER_IPC__SOCKET_MODE", "9"}};
  EXPECT_EQ(run_daemon_batch(), kExitDone) << err.str();
  EXPECT_THAT(session->socket.string(), IsEmpty());

  std::filesystem::remove(folder / "out.jsonl");
  environment.emplace_back("DEEPINFER_IPC__SOCKET", "/run/env.sock");
  EXPECT_EQ(run_daemon_batch(), kExitDone) << err.str();
  EXPECT_EQ(session->socket, "/run/env.sock");
  std::filesystem::remove(folder / "out.jsonl");
  EXPECT_EQ(run_daemon_batch({"--socket", "/run/flag.sock"}), kExitDone) << err.str();
  EXPECT_EQ(session->socket, "/run/flag.sock");

  environment = {{"DEEPINFER_NONSENSE", "1"}};
  EXPECT_EQ(run_daemon_batch(), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("unknown variable DEEPINFER_NONSENSE"));
}

}  // namespace
}  // namespace deepinfer::cli
