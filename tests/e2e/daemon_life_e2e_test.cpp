// The daemon's own life: start, refusals at the door, signals, sockets left behind, nothing leaked.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include "tests/e2e/daemon_fixture.h"

namespace deepinfer::e2e {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr uid_t kNobody = 65534;

std::size_t entries_in(const std::filesystem::path& path) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
}

std::int64_t lines_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::int64_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

std::int64_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::int64_t pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

TEST_F(DaemonTest, TellsTheServiceManagerWhatItDoes) {
  start_daemon();
  EXPECT_EQ(stop_daemon().exit_code, 0);

  std::vector<std::string> states;
  for (const std::string& line : notify->lines()) {
    if (line == "READY=1" || line == "STOPPING=1") states.push_back(line);
  }
  EXPECT_THAT(states, ElementsAre("READY=1", "STOPPING=1"));
  EXPECT_THAT(notify->lines(), Contains(StartsWith("STATUS=")));
}

TEST_F(DaemonTest, FinishesWhatItAcceptedBeforeItStops) {
  start_daemon();
  write_mixed("in", 30, "r", 120);
  Program batch(daemon_batch("in", "out"));
  ASSERT_TRUE(eventually([&] { return status().requests_running == 30; }));

  const Finished stopped = stop_daemon();

  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_EQ(batch.wait().exit_code, 0);
  EXPECT_EQ(lines_of("out.jsonl"), 30);
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(DaemonTest, StopsAtOnceOnTheSecondSignal) {
  start_daemon();
  write_mixed("in", 20, "r", 100'000);
  Program batch(daemon_batch("in", "out"));
  ASSERT_TRUE(eventually([&] { return status().requests_running == 20; }));

  daemon->send(SIGTERM);
  ASSERT_TRUE(notify->wait_for("STOPPING=1"));
  daemon->send(SIGTERM);

  EXPECT_EQ(daemon->wait().exit_code, 0);
  EXPECT_EQ(batch.wait().exit_code, 3);  // nothing is recorded as done: --resume runs it
}

TEST_F(DaemonTest, GivesUpWaitingWhenTheGraceIsOver) {
  configuration += "[drain]\ngrace = \"50ms\"\n";
  start_daemon();
  write_mixed("in", 20, "r", 100'000);
  Program batch(daemon_batch("in", "out"));
  ASSERT_TRUE(eventually([&] { return status().requests_running == 20; }));

  EXPECT_EQ(stop_daemon().exit_code, 0);

  EXPECT_EQ(batch.wait().exit_code, 3);
}

TEST_F(DaemonTest, RefusesASecondDaemonOnItsSocket) {
  start_daemon();
  const auto first = std::move(notify);

  const Finished second = start()->wait();

  EXPECT_EQ(second.exit_code, 5);
  EXPECT_THAT(second.err, HasSubstr(socket()));
  EXPECT_EQ(status().state, DaemonState::kReady);
}

TEST_F(DaemonTest, TakesOverTheSocketOfOneThatWasKilled) {
  for (int i = 0; i < 5; ++i) {
    start_daemon();
    daemon->send(SIGKILL);
    EXPECT_EQ(daemon->wait().exit_code, 128 + SIGKILL);
    EXPECT_TRUE(std::filesystem::exists(socket()));
  }
  start_daemon();
  EXPECT_EQ(status().state, DaemonState::kReady);
}

// Remembers that its request was lost.
class LossSink final : public ClientSink {
 public:
  void on_token(const TokenEvent& /*event*/) override {}
  void on_finished(RequestResult /*result*/) override { ADD_FAILURE() << "finished"; }
  void on_refused(RequestHandle /*request*/, const RequestError& error) override {
    ADD_FAILURE() << error.message;
  }
  void on_lost(RequestHandle /*request*/) override { is_lost = true; }

  bool is_lost = false;
};

TEST_F(DaemonTest, IsFoundAgainByAClientThatSaysWhatWasLost) {
  start_daemon();
  const auto client = connect();
  const auto job =
      std::get<JobId>(client->open_job({.name = "doomed", .metadata = {}, .seed = {}}));
  Request request;
  request.prompt = TextPrompt{"Once upon a time"};
  request.sampling.max_tokens = 4000;
  request.sampling.ignore_eos = true;
  LossSink sink;
  ASSERT_FALSE(client->submit(request, sink, {.job = job}).error);
  ASSERT_TRUE(eventually([&] { return status().requests_running == 1; }));

  daemon->send(SIGKILL);
  EXPECT_EQ(daemon->wait().exit_code, 128 + SIGKILL);
  ASSERT_TRUE(eventually([&] {
    static_cast<void>(client->deliver(std::chrono::milliseconds(100)));
    return sink.is_lost;
  }));
  EXPECT_THAT(client->lost_jobs(), ElementsAre(job));

  start_daemon();
  request.sampling.max_tokens = 3;
  EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(request)));
}

TEST_F(DaemonTest, GivesItsSocketTheModeThatIsConfigured) {
  configuration += "[ipc]\nsocket_mode = \"0640\"\n";
  start_daemon();
  struct stat facts {};
  ASSERT_EQ(::stat(socket().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0640U);
}

TEST_F(DaemonTest, RefusesUsersThatAreNotNamed) {
  ASSERT_EQ(::geteuid(), 0U) << "this test becomes another user";
  configuration += "[ipc]\nsocket_mode = \"0666\"\nallowed_uids = [1]\n";
  start_daemon();
  std::filesystem::permissions(folder.path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  Invocation stranger = client_command({"generate", "--prompt", "Hello", "--max-tokens", "2"});
  stranger.user = kNobody;
  const Finished refused = run(stranger);
  EXPECT_EQ(refused.exit_code, 5) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("65534"));

  Invocation known = stranger;
  known.user = 1;
  EXPECT_EQ(run(known).exit_code, 0);
  Invocation drain = client_command({"drain"});
  drain.user = 1;
  EXPECT_EQ(run(drain).exit_code, 5);
  EXPECT_EQ(status().state, DaemonState::kReady);
}

TEST_F(DaemonTest, IsOutOfReachForUsersThatTheSocketsModeShutsOut) {
  ASSERT_EQ(::geteuid(), 0U) << "this test becomes another user";
  start_daemon();
  std::filesystem::permissions(folder.path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  Invocation stranger = client_command({"status"});
  stranger.user = kNobody;

  const Finished refused = run(stranger);

  EXPECT_EQ(refused.exit_code, 5) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("ermission"));
}

TEST_F(DaemonTest, IsMissedByNameWhenItIsNotThere) {
  write_mixed("in", 2, "r");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"status"},
                                                {"jobs"},
                                                {"drain"},
                                                {"generate", "--prompt", "Hello"}}) {
    const Finished missed = run(client_command(words));
    EXPECT_EQ(missed.exit_code, 3) << words.front() << ": " << missed.err;
    EXPECT_THAT(missed.err, HasSubstr(socket()));
    EXPECT_THAT(missed.err, HasSubstr("deepinferd"));
    EXPECT_EQ(std::count(missed.err.begin(), missed.err.end(), '\n'), 1) << missed.err;
  }
  EXPECT_EQ(run(daemon_batch("in", "out")).exit_code, 3);
  EXPECT_FALSE(has("out.jsonl"));
}

TEST_F(DaemonTest, RefusesAModelItCannotUse) {
  model = folder / "nothing";
  const Finished missing = start()->wait();
  EXPECT_EQ(missing.exit_code, 4) << missing.err;
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(DaemonTest, ChecksItsConfigurationWithoutServing) {
  const Finished good = start({}, {"--check-config"})->wait();
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("threads = 1"));

  configuration = "[engine]\nthread = 1\nmax_sequences = \"many\"\n[ipc]\nring_entries = 3\n";
  const Finished bad = start({}, {"--check-config"})->wait();
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("d.toml:2:1"));
  EXPECT_THAT(bad.err, HasSubstr("engine.threads"));
  EXPECT_THAT(bad.err, HasSubstr("d.toml:3:"));
  EXPECT_THAT(bad.err, HasSubstr("d.toml:5:"));
}

TEST_F(DaemonTest, ReturnsToItsBaselineAfterAThousandSessions) {
  start_daemon();
  const std::filesystem::path process = "/proc/" + std::to_string(daemon->process());
  const auto use = [&] {
    const auto client = connect();
    Request request;
    request.prompt = TextPrompt{"Hello"};
    request.sampling.max_tokens = 1;
    EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(request)));
  };
  for (int i = 0; i < 50; ++i) use();  // what is allocated once
  ASSERT_TRUE(eventually([&] { return status().sessions == 1; }));
  std::size_t descriptors = 0;
  std::int64_t mappings = 0;
  ASSERT_TRUE(eventually([&] {
    descriptors = entries_in(process / "fd");
    mappings = lines_in(process / "maps");
    return descriptors == entries_in(process / "fd");
  }));
  const std::int64_t resident = resident_bytes(daemon->process());

  for (int i = 0; i < 1000; ++i) use();

  EXPECT_TRUE(eventually([&] { return entries_in(process / "fd") <= descriptors; }));
  EXPECT_TRUE(eventually([&] { return lines_in(process / "maps") <= mappings + 2; }));
  EXPECT_LT(resident_bytes(daemon->process()), resident + (4 << 20));
  EXPECT_EQ(status().requests_running, 0);
}

}  // namespace
}  // namespace deepinfer::e2e
