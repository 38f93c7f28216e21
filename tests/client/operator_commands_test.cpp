#include "client/cli/operator_commands.h"

#include <gmock/gmock.h>

#include <string>

#include "client/cli/json_text.h"
#include "client/cli/messages.h"
#include "client/cli/operator_text.h"
#include "tests/client/command_fixture.h"

namespace deepinfer::cli {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr JobId kOther{0, 7};

JobInfo job_of(JobId id, const std::string& name) {
  JobInfo job;
  job.id = id;
  job.name = name;
  job.uid = 1000;
  job.counts = {40, 20, 3, 2, 5, 10};
  job.metadata = {{"shard", "1/4"}};
  job.created = std::chrono::system_clock::time_point(seconds(1'800'000'000));
  return job;
}

class Operator : public CommandTest {
 protected:
  Operator() {
    DaemonStatus status;
    status.state = DaemonState::kReady;
    status.version = "0.1.0";
    status.pid = 4711;
    status.uptime = std::chrono::milliseconds(200'500);
    status.model.name = "nano";
    status.model.max_context = 4096;
    status.backend = "cpu";
    status.sessions = 2;
    status.jobs_running = 1;
    status.requests_queued = 3;
    status.requests_running = 8;
    status.requests_finished = 120;
    status.requests_refused = 5;
    status.engine.prefill_tokens = 830;
    status.engine.prefill_time = seconds(1);
    status.engine.cache_blocks = 200;
    status.engine.cache_blocks_free = 150;
    daemon.statuses = {status};
    daemon.jobs = {job_of(kJob, "in.jsonl"), job_of(kOther, "")};
    daemon.jobs[1].state = JobState::kCompleted;
    daemon.jobs[1].ended = daemon.jobs[1].created + seconds(90);
  }

  nlohmann::json printed() const {
    auto document = parse_json(out.str());
    EXPECT_TRUE(document.has_value()) << out.str();
    return document ? *std::move(document) : nlohmann::json();
  }
};

TEST_F(Operator, StatusIsShortAndAligned) {
  EXPECT_EQ(run({"status"}), kExitDone);

  EXPECT_EQ(out.str(),
            "daemon    deepinferd 0.1.0 at /run/x.sock\n"
            "state     ready\n"
            "process   4711, up 3 min 20 s\n"
            "model     nano, 4096 tokens of context\n"
            "backend   cpu\n"
            "clients   2\n"
            "jobs      1 running\n"
            "requests  3 queued, 8 running, 120 finished, 5 refused\n"
            "prefill   830 tokens/s (830 tokens)\n"
            "decode    0 tokens/s (0 tokens)\n"
            "cache     150 of 200 blocks free\n");
  EXPECT_THAT(err.str(), IsEmpty());
}

TEST_F(Operator, StatusAsJsonHasTheSame) {
  EXPECT_EQ(run({"status", "--json"}), kExitDone);

  const auto status = printed();
  EXPECT_EQ(status.at("state"), "ready");
  EXPECT_EQ(status.at("pid"), 4711);
  EXPECT_EQ(status.at("uptime_seconds"), 200.5);
  EXPECT_EQ(status.at("model").at("name"), "nano");
  EXPECT_EQ(status.at("requests").at("queued"), 3);
  EXPECT_EQ(status.at("requests").at("running"), 8);
  EXPECT_EQ(status.at("engine").at("cache_blocks_free"), 150);
}

TEST_F(Operator, JobsAreATable) {
  EXPECT_EQ(run({"jobs"}), kExitDone);

  EXPECT_EQ(out.str(),
            "JOB                                   STATE      DONE  FAILED  TOTAL   UID  CREATED   "
            "            NAME\n"
            "job_0123456789abcdeffedcba9876543210  running      20       3     40  1000  "
            "2027-01-15T08:00:00Z  in.jsonl\n"
            "job_00000000000000000000000000000007  completed    20       3     40  1000  "
            "2027-01-15T08:00:00Z\n");
}

TEST_F(Operator, NoJobsAreSaidSo) {
  daemon.jobs.clear();

  EXPECT_EQ(run({"jobs"}), kExitDone);
  EXPECT_EQ(out.str(), "no jobs\n");
  EXPECT_EQ(run({"jobs", "--json"}), kExitDone);
  EXPECT_EQ(out.str(), "{\"jobs\":[]}\n");
}

TEST_F(Operator, AJobAsJsonHasOpenAisCountsAndOurs) {
  EXPECT_EQ(run({"job", kJobText, "--json"}), kExitDone);

  EXPECT_EQ(out.str(),
            R"({"id":"job_0123456789abcdeffedcba9876543210","name":"in.jsonl","state":"running",)"
            R"("request_counts":{"total":40,"completed":20,"failed":3},"queued":5,"running":10,)"
            R"("cancelled":2,"uid":1000,"created_at":1800000000,"ended_at":null,)"
            R"("metadata":{"shard":"1/4"}})"
            "\n");
}

TEST_F(Operator, AJobAsTextHasItsCountsTimesAndMetadata) {
  EXPECT_EQ(run({"job", to_text(kOther)}), kExitDone);

  EXPECT_THAT(out.str(), HasSubstr("state     completed\n"));
  EXPECT_THAT(out.str(), HasSubstr("requests  40 in all, 20 completed, 3 failed, 2 cancelled, 5 "
                                   "queued, 10 running\n"));
  EXPECT_THAT(out.str(), HasSubstr("ended     2027-01-15T08:01:30Z\n"));
  EXPECT_THAT(out.str(), HasSubstr("shard     1/4\n"));
}

TEST_F(Operator, TheIdMayLackItsPrefix) {
  EXPECT_EQ(run({"job", std::string(kJobText).substr(4)}), kExitDone);
  EXPECT_THAT(out.str(), HasSubstr("in.jsonl"));
}

TEST_F(Operator, AnUnknownJobIsRefusedWithItsCode) {
  for (const std::string command : {"job", "cancel"}) {
    EXPECT_EQ(run({command, "job_00000000000000000000000000000009"}), kExitRefused);
    EXPECT_THAT(err.str(), StartsWith("deepinfer: error: unknown_job: "));
    EXPECT_THAT(out.str(), IsEmpty());
  }
}

TEST_F(Operator, AMalformedIdIsWrongUsageAndReachesNoDaemon) {
  for (const std::string id : {"7", "job_", "job_0123456789ABCDEFfedcba9876543210",
                               "job_0123456789abcdeffedcba98765432100", "job_\x1b[2J"}) {
    connect_error = nobody_there();
    EXPECT_EQ(run({"job", id}), kExitUsage) << id;
    EXPECT_EQ(run({"cancel", id}), kExitUsage) << id;
    EXPECT_THAT(err.str(), HasSubstr("not a job's id"));
    EXPECT_THAT(err.str(), Not(HasSubstr("\x1b")));
  }
  EXPECT_EQ(run({"job"}), kExitUsage);
}

TEST_F(Operator, CancelEndsAJobAndShowsIt) {
  EXPECT_EQ(run({"cancel", kJobText, "--json"}), kExitDone);

  EXPECT_THAT(daemon.orders, ElementsAre("cancel " + std::string(kJobText)));
  EXPECT_EQ(printed().at("state"), "cancelled");
}

TEST_F(Operator, WhatTheDaemonRefusesIsSaidInItsWords) {
  daemon.refusal = ClientError{ClientFault::kRefused, "not_permitted", "job is another user's",
                               kJobText, "ask its owner or root"};

  EXPECT_EQ(run({"cancel", kJobText}), kExitRefused);

  EXPECT_EQ(err.str(), "deepinfer: error: not_permitted: job is another user's (" +
                           std::string(kJobText) + "): ask its owner or root\n");
}

TEST_F(Operator, WithoutADaemonTheLineSaysHowToStartOne) {
  connect_error = nobody_there();
  for (const std::vector<std::string>& words : {std::vector<std::string>{"status"},
                                                {"jobs"},
                                                {"job", kJobText},
                                                {"cancel", kJobText},
                                                {"drain"},
                                                {"undrain"}}) {
    EXPECT_EQ(run(words), kExitNoDaemon);
    EXPECT_EQ(err.str(),
              "deepinfer: error: no daemon can be reached (/run/x.sock): start one with "
              "deepinferd --model DIR\n");
  }
}

TEST_F(Operator, TheSocketIsThatOfTheFlag) {
  EXPECT_EQ(run({"status", "--socket", "/run/mine.sock"}), kExitDone);
  EXPECT_EQ(socket_asked, "/run/mine.sock");
  EXPECT_EQ(run({"status"}), kExitDone);
  EXPECT_THAT(socket_asked.string(), IsEmpty());
}

TEST_F(Operator, UnknownVariablesAreErrorsAndOtherSettingsAreNot) {
  environment = {{"DEEPINFER_NONSENSE", "1"}};
  EXPECT_EQ(run({"status"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("DEEPINFER_NONSENSE"));
  environment = {{"DEEPINFER_ENGINE__THREADS", "many"}, {"DEEPINFER_BATCH_INVARIANT", "0"}};
  EXPECT_EQ(run({"status"}), kExitDone);
}

TEST_F(Operator, CommandsOfLaterVersionsAreNamedAsSuch) {
  for (const std::string command : {"reload", "top", "results", "doctor", "init", "grammar"}) {
    EXPECT_EQ(run({command, "x", "--model", "y"}), kExitUsage);
    EXPECT_EQ(err.str(), "deepinfer: error: " + command +
                             " is not built into this version (command line): see deepinfer "
                             "--help\n");
  }
}

TEST(OperatorText, NamesOfOthersCannotMoveTheCursor) {
  EXPECT_EQ(printable("a\x1b[2J\nb\x7f"), "a?[2J?b?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \xc3\xa9"),
            "?2J \xc3\xa9");
  EXPECT_EQ(printable("\xff"), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace deepinfer::cli
