// Batches through the daemon: the same records as embedded, whoever else is there and whatever dies.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

#include "tests/e2e/daemon_fixture.h"

namespace deepinfer::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kClients = 5;
constexpr int kEach = 200;

TEST_F(DaemonTest, GivesFiveClientsAtOnceWhatEmbeddedRunsGive) {
  start_daemon();
  for (int i = 0; i < kClients; ++i) {
    write_mixed("in" + std::to_string(i), kEach, "c" + std::to_string(i) + "-");
  }

  std::vector<std::unique_ptr<Program>> clients;
  for (int i = 0; i < kClients; ++i) {
    const std::string number = std::to_string(i);
    clients.push_back(std::make_unique<Program>(daemon_batch("in" + number, "out" + number)));
  }
  for (const auto& client : clients) {
    const Finished finished = client->wait();
    EXPECT_EQ(finished.exit_code, 1) << finished.err;  // the planted ones are refused
  }

  for (int i = 0; i < kClients; ++i) {
    const std::string number = std::to_string(i);
    EXPECT_EQ(run(embedded_batch("in" + number, "embedded" + number)).exit_code, 1);
    expect_same_records("out" + number, "embedded" + number);
    EXPECT_EQ(lines_of("out" + number + ".jsonl") + lines_of("out" + number + ".errors.jsonl"),
              kEach);
  }
  EXPECT_EQ(stop_daemon().exit_code, 0);
}

TEST_F(DaemonTest, OutlivesAClientThatIsKilled) {
  start_daemon();
  write_mixed("long", 60, "l", 200);
  write_mixed("short", 20, "s");
  {
    Program victim(daemon_batch("long", "victim"));
    ASSERT_TRUE(eventually([&] { return lines_of("victim.jsonl.partial") > 0; }));
    victim.send(SIGKILL);
    EXPECT_EQ(victim.wait().exit_code, 128 + SIGKILL);
  }

  EXPECT_TRUE(eventually([&] {
    const DaemonStatus now = status();
    return now.sessions == 1 && now.requests_running == 0 && now.requests_queued == 0;
  }));
  EXPECT_EQ(run(daemon_batch("short", "after")).exit_code, 0);
  EXPECT_EQ(lines_of("after.jsonl"), 20);
  EXPECT_EQ(stop_daemon().exit_code, 0);
}

TEST_F(DaemonTest, LetsABatchContinueAfterTheDaemonWasKilled) {
  start_daemon();
  write_mixed("in", 60, "r", 80);
  EXPECT_EQ(run(embedded_batch("in", "expected")).exit_code, 1);
  {
    Program batch(daemon_batch("in", "out"));
    ASSERT_TRUE(eventually([&] { return lines_of("out.jsonl.partial") >= 10; }));
    daemon->send(SIGKILL);
    const Finished finished = batch.wait();
    EXPECT_EQ(finished.exit_code, 3) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("--resume"));
  }
  EXPECT_EQ(daemon->wait().exit_code, 128 + SIGKILL);
  EXPECT_FALSE(has("out.jsonl"));

  start_daemon();
  const Finished resumed = run(daemon_batch("in", "out", {"--resume"}));

  EXPECT_EQ(resumed.exit_code, 1) << resumed.err;
  expect_same_records("out", "expected");
}

TEST_F(DaemonTest, DrainsUnderLoadWithoutLosingAnything) {
  start_daemon();
  constexpr int kBatches = 3;
  std::vector<std::unique_ptr<Program>> batches;
  for (int i = 0; i < kBatches; ++i) {
    const std::string number = std::to_string(i);
    write_mixed("in" + number, 600, "d" + number + "-", 28);
    EXPECT_EQ(run(embedded_batch("in" + number, "expected" + number)).exit_code, 1);
  }
  for (int i = 0; i < kBatches; ++i) {
    const std::string number = std::to_string(i);
    batches.push_back(std::make_unique<Program>(daemon_batch("in" + number, "out" + number)));
  }
  ASSERT_TRUE(eventually([&] { return lines_of("out0.jsonl.partial") >= 5; }));

  const Finished drained = run(client_command({"drain", "--wait", "--timeout", "2min"}));

  EXPECT_EQ(drained.exit_code, 0) << drained.err;
  EXPECT_EQ(status().state, DaemonState::kDrained);
  std::int64_t stopped = 0;
  for (int i = 0; i < kBatches; ++i) {
    const Finished finished = batches[static_cast<std::size_t>(i)]->wait();
    if (finished.exit_code != 5) continue;
    ++stopped;
    EXPECT_THAT(finished.err, HasSubstr("--resume"));
  }
  EXPECT_GT(stopped, 0) << "all were done before the drain";

  EXPECT_EQ(run(client_command({"undrain"})).exit_code, 0);
  for (int i = 0; i < kBatches; ++i) {
    const std::string number = std::to_string(i);
    const Finished resumed = run(daemon_batch("in" + number, "out" + number, {"--resume"}));
    EXPECT_EQ(resumed.exit_code, 1) << resumed.err;
    expect_same_records("out" + number, "expected" + number);
  }
}

TEST_F(DaemonTest, EndsTheRequestsOfACancelledJobWithTheirText) {
  start_daemon();
  write_mixed("in", 40, "c", 4000);
  Program batch(daemon_batch("in", "out"));
  const auto client = connect();
  std::vector<JobInfo> jobs;
  ASSERT_TRUE(eventually([&] {
    jobs = std::get<std::vector<JobInfo>>(client->jobs());
    return !jobs.empty() && jobs.front().counts.running > 0;
  }));

  EXPECT_EQ(run(client_command({"cancel", to_text(jobs.front().id)})).exit_code, 0);

  EXPECT_EQ(batch.wait().exit_code, 1);
  const auto errors = by_custom_id(folder / "out.errors.jsonl");
  EXPECT_EQ(lines_of("out.jsonl") + lines_of("out.errors.jsonl"), 40);
  EXPECT_TRUE(std::any_of(errors.begin(), errors.end(), [](const auto& item) {
    return item.second.at("error").at("code") == "cancelled" &&
           !item.second.at("response").is_null();
  }));
  const auto job = std::get<JobInfo>(client->job(jobs.front().id));
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_EQ(run(client_command({"cancel", to_text(jobs.front().id)})).exit_code, 5);
}

TEST_F(DaemonTest, StreamsTheSameTextAsEmbedded) {
  start_daemon();
  const std::vector<std::string> words{
      "generate", "--prompt", "Once upon a time", "--max-tokens", "40", "--seq-seed", "7"};
  const Finished expected = run(command(words));

  const Finished streamed = run(client_command(words));

  EXPECT_EQ(streamed.exit_code, 0) << streamed.err;
  EXPECT_EQ(streamed.out, expected.out);
}

}  // namespace
}  // namespace deepinfer::e2e
