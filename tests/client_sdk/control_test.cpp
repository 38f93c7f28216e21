#include <optional>
#include <thread>

#include "tests/client_sdk/client_fixture.h"

namespace deepinfer::client {
namespace {

using Control = ClientTest;

TEST_F(Control, AsksForStatusAndJobs) {
  const FakeDaemon daemon(socket());
  const auto client = connect();
  const JobId id{.high = 1, .low = 2};

  const auto status = client->status();
  const auto job = client->job(id);
  const auto jobs = client->jobs();

  ASSERT_TRUE(std::holds_alternative<DaemonStatus>(status));
  EXPECT_EQ(std::get<DaemonStatus>(status).version, "0.0.0-fake");
  ASSERT_TRUE(std::holds_alternative<JobInfo>(job));
  EXPECT_EQ(std::get<JobInfo>(job).id, id);
  ASSERT_TRUE(std::holds_alternative<std::vector<JobInfo>>(jobs));
  EXPECT_TRUE(std::get<std::vector<JobInfo>>(jobs).empty());
  EXPECT_FALSE(client->drain());
  EXPECT_FALSE(client->undrain());
}

TEST_F(Control, PutsThePagesOfJobsTogether) {
  Script script;
  script.on_question = [](FakeSession&,
                          const ipc::Question& question) -> std::optional<ipc::Reply> {
    const auto& query = std::get<ipc::JobsQuery>(question);
    std::uint64_t number = query.before ? query.before->low - 1 : 70;
    ipc::JobsPage page;
    for (; number > 0 && page.jobs.size() < ipc::kJobsInPage; --number) {
      page.jobs.emplace_back().id = {.high = 0, .low = number};
    }
    page.has_more = number > 0;
    return page;
  };
  const FakeDaemon daemon(socket(), script);
  const auto client = connect();

  const auto asked = client->jobs();

  const auto* jobs = std::get_if<std::vector<JobInfo>>(&asked);
  ASSERT_NE(jobs, nullptr);
  ASSERT_EQ(jobs->size(), 70U);
  EXPECT_EQ(jobs->front().id.low, 70U);
  EXPECT_EQ(jobs->back().id.low, 1U);
}

TEST_F(Control, TellsWhyTheDaemonRefuses) {
  Script script;
  std::string code = "permission_denied";
  script.on_question = [&](FakeSession&, const ipc::Question&) -> std::optional<ipc::Reply> {
    return ipc::Refusal{.code = code, .what = "no", .mend = "ask root", .retry_after_ms = 0};
  };
  FakeDaemon daemon(socket(), script);
  const auto client = connect();

  const auto drained = client->drain();
  daemon.run([&](FakeDaemon&) { code = "unknown_job"; });
  const auto job = client->job(JobId{});
  daemon.run([&](FakeDaemon&) { code = "invalid_value"; });
  const auto opened = client->open_job({});

  ASSERT_TRUE(drained);
  EXPECT_EQ(drained->fault, ClientFault::kRefused);
  EXPECT_EQ(drained->code, "permission_denied");
  EXPECT_EQ(drained->mend, "ask root");
  EXPECT_EQ(std::get<ClientError>(job).code, "unknown_job");
  EXPECT_EQ(std::get<ClientError>(job).where, to_text(JobId{}));
  EXPECT_EQ(std::get<ClientError>(opened).fault, ClientFault::kUsage);
}

TEST_F(Control, NoticesAnAnswerToAnotherQuestion) {
  Script script;
  script.on_question = [](FakeSession&, const ipc::Question&) -> std::optional<ipc::Reply> {
    return ipc::Nothing{};
  };
  const FakeDaemon daemon(socket(), script);
  const auto client = connect();

  EXPECT_EQ(std::get<ClientError>(client->status()).code, "protocol_mismatch");
}

TEST_F(Control, DropsAnAnswerThatComesTooLate) {
  std::vector<ipc::Question> held;
  bool is_held = true;
  Script script;
  script.on_question = [&](FakeSession&,
                           const ipc::Question& question) -> std::optional<ipc::Reply> {
    if (!is_held) return plain_answer(question);
    held.push_back(question);
    return std::nullopt;
  };
  FakeDaemon daemon(socket(), script);
  ClientOptions impatient = options();
  impatient.connect_timeout = Milliseconds{50};
  const auto hasty = connect(impatient);

  const auto late = hasty->status();
  daemon.run([&](FakeDaemon& fake) {
    is_held = false;
    ipc::Words words;
    ipc::encode(ipc::ControlReply{.number = 1, .reply = ipc::Nothing{}}, words);
    fake.sessions().front().send_bytes(ipc::bytes_of(words));
  });

  EXPECT_EQ(std::get<ClientError>(late).code, "daemon_stalled");
  EXPECT_EQ(held.size(), 1U);
  EXPECT_TRUE(wait_until([&] { return std::holds_alternative<DaemonStatus>(hasty->status()); }));
}

TEST_F(Control, EndsWhenTheDaemonDiesOrAnswersGarbage) {
  for (const bool is_garbage : {false, true}) {
    bool is_first = true;
    Script script;
    script.on_question = [&](FakeSession& session,
                             const ipc::Question& question) -> std::optional<ipc::Reply> {
      if (!is_first) return plain_answer(question);
      is_first = false;
      if (is_garbage) {
        session.send_bytes(std::vector<std::byte>(40, std::byte{0xee}));
      } else {
        session.close();
      }
      return std::nullopt;
    };
    const FakeDaemon daemon(socket(), script);
    const auto client = connect();

    const auto error = client->drain();

    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, "daemon_lost");
    EXPECT_EQ(error->fault, ClientFault::kUnreachable);
    EXPECT_TRUE(std::holds_alternative<DaemonStatus>(client->status()));
  }
}

TEST_F(Control, AnswersFourThreadsAtOnce) {
  const FakeDaemon daemon(socket());
  const auto client = connect();
  std::vector<std::thread> threads;

  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&client, thread] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const JobId id{.high = thread, .low = i};
        const auto job = client->job(id);
        ASSERT_TRUE(std::holds_alternative<JobInfo>(job)) << std::get<ClientError>(job).code;
        ASSERT_EQ(std::get<JobInfo>(job).id, id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace deepinfer::client
