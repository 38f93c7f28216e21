#include <optional>

#include "tests/client_sdk/client_fixture.h"

namespace deepinfer::client {
namespace {

using Loss = ClientTest;

// Accepts, and never answers.
Script holding() {
  Script script;
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    session.accept(submission.user_data);
  };
  return script;
}

JobId opened(Client& client, std::uint64_t number) {
  JobOptions options;
  options.seed = number;  // the fake makes the id of it
  const auto job = client.open_job(options);
  EXPECT_TRUE(std::holds_alternative<JobId>(job));
  return std::holds_alternative<JobId>(job) ? std::get<JobId>(job) : JobId{};
}

TEST_F(Loss, DeliversWhatWasPublishedBeforeTheDaemonDied) {
  auto daemon = std::make_unique<FakeDaemon>(socket(), holding());
  const auto client = connect();
  RecordingSink sink;
  const RequestHandle first = submit(*client, text_request("x"), sink);
  const RequestHandle second = submit(*client, text_request("x"), sink);
  daemon->run([&](FakeDaemon& fake) {
    fake.sessions().front().finish(static_cast<std::uint64_t>(first), echo_result("kept", ""));
  });

  daemon.reset();
  deliver_all(*client);

  ASSERT_EQ(sink.results().size(), 1U);
  EXPECT_EQ(sink.results().at(first).choices[0].text, "kept");
  EXPECT_EQ(sink.lost(), std::vector<RequestHandle>{second});
  EXPECT_FALSE(client->cancel(second));
}

TEST_F(Loss, NamesTheJobsThatWentWithTheDaemon) {
  auto daemon = std::make_unique<FakeDaemon>(socket(), holding());
  const auto client = connect();
  RecordingSink sink;
  const JobId open = opened(*client, 1);
  const JobId closed_with_requests = opened(*client, 2);
  const JobId closed = opened(*client, 3);
  const JobId cancelled = opened(*client, 4);
  submit(*client, text_request("x"), sink, {.job = closed_with_requests, .stream = false});
  submit(*client, text_request("x"), sink, {.job = closed_with_requests, .stream = false});
  submit(*client, text_request("x"), sink);
  EXPECT_FALSE(client->close_job(closed_with_requests));
  EXPECT_FALSE(client->close_job(closed));
  EXPECT_FALSE(client->cancel_job(cancelled));
  EXPECT_TRUE(client->lost_jobs().empty());

  daemon.reset();
  deliver_all(*client);

  EXPECT_EQ(client->lost_jobs(), (std::vector<JobId>{open, closed_with_requests}));
  EXPECT_TRUE(client->lost_jobs().empty());
  EXPECT_EQ(sink.lost().size(), 3U);
}

TEST_F(Loss, IsNoticedByWhoAsksForLostJobs) {
  auto daemon = std::make_unique<FakeDaemon>(socket());
  const auto client = connect();
  const JobId job = opened(*client, 6);

  daemon.reset();

  EXPECT_EQ(client->lost_jobs(), std::vector<JobId>{job});
}

TEST_F(Loss, IsToldByADaemonThatStops) {
  Script script;
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    session.accept(submission.user_data);
    session.lose(submission.user_data);
  };
  const FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink sink;
  const JobId job = opened(*client, 5);

  const RequestHandle request =
      submit(*client, text_request("x"), sink, {.job = job, .stream = false});
  deliver_all(*client);
  const auto answer = client->generate(text_request("x"));

  EXPECT_EQ(sink.lost(), std::vector<RequestHandle>{request});
  EXPECT_EQ(client->lost_jobs(), std::vector<JobId>{job});
  ASSERT_TRUE(std::holds_alternative<ClientError>(answer));
  EXPECT_EQ(std::get<ClientError>(answer).code, "daemon_lost");
  EXPECT_EQ(std::get<ClientError>(answer).fault, ClientFault::kUnreachable);
}

TEST_F(Loss, EndsTheWaitOfGenerate) {
  std::optional<FakeDaemon> daemon;
  Script script = holding();
  daemon.emplace(socket(), script);
  const auto client = connect();
  std::thread killer([&] {
    EXPECT_TRUE(wait_until([&] { return client->unfinished() == 1; }));
    daemon.reset();
  });

  const auto answer = client->generate(text_request("x"));
  killer.join();

  ASSERT_TRUE(std::holds_alternative<ClientError>(answer));
  EXPECT_EQ(std::get<ClientError>(answer).code, "daemon_lost");
}

TEST_F(Loss, ConnectsAgainWhenADaemonIsNeeded) {
  Script first;
  first.model = "first";
  auto daemon = std::make_unique<FakeDaemon>(socket(), first);
  const auto client = connect();
  RecordingSink sink;

  for (const char* model : {"second", "third"}) {
    daemon.reset();
    Script next;
    next.model = model;
    daemon = std::make_unique<FakeDaemon>(socket(), next);
    submit(*client, text_request("x"), sink);
    EXPECT_EQ(client->model().name, model);
    deliver_all(*client);
  }
  daemon.reset();
  daemon = std::make_unique<FakeDaemon>(socket());
  EXPECT_TRUE(std::holds_alternative<DaemonStatus>(client->status()));
  daemon.reset();
  daemon = std::make_unique<FakeDaemon>(socket());
  EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(text_request("x"))));

  EXPECT_EQ(sink.results().size(), 2U);
}

TEST_F(Loss, WaitsForADaemonThatRestarts) {
  Script loading;
  loading.greeting = Greeting::kRefusal;
  loading.refusal = {.code = "loading", .what = "loading", .mend = "wait", .retry_after_ms = 10};
  auto daemon = std::make_unique<FakeDaemon>(socket());
  ClientOptions patient = options();
  patient.reconnect_timeout = kPlenty;
  const auto client = connect(patient);
  daemon.reset();

  std::thread starter([&] {
    daemon = std::make_unique<FakeDaemon>(socket(), loading);
    EXPECT_TRUE(wait_until([&] {
      bool has_refused = false;
      daemon->run([&](FakeDaemon& fake) { has_refused = fake.greeted() > 0; });
      return has_refused;
    }));
    daemon->run([](FakeDaemon& fake) { fake.script().greeting = Greeting::kWelcome; });
  });
  const auto answer = client->generate(text_request("x"));
  starter.join();

  EXPECT_TRUE(std::holds_alternative<RequestResult>(answer));
}

TEST_F(Loss, FailsWhenNoDaemonComesBack) {
  auto daemon = std::make_unique<FakeDaemon>(socket());
  ClientOptions impatient = options();
  impatient.reconnect_timeout = Milliseconds{60};
  const auto client = connect(impatient);
  const auto at_once = connect();
  RecordingSink sink;
  daemon.reset();

  for (Client* one : {client.get(), at_once.get()}) {
    const auto submitted = one->submit(text_request("x"), sink);
    ASSERT_TRUE(submitted.error);
    EXPECT_EQ(submitted.error->code, "daemon_unreachable");
    EXPECT_EQ(submitted.error->fault, ClientFault::kUnreachable);
    EXPECT_EQ(std::get<ClientError>(one->status()).code, "daemon_unreachable");
    EXPECT_EQ(one->unfinished(), 0);
    EXPECT_EQ(one->deliver(kPlenty), Client::Delivered::kNothing);
  }
}

TEST_F(Loss, GivesUpADaemonWhosePayloadMakesNoSense) {
  for (const ipc::CompletionKind kind :
       {ipc::CompletionKind::kResult, ipc::CompletionKind::kRefused,
        ipc::CompletionKind::kTokens}) {
    bool is_garbage = true;
    Script script;
    script.on_submission = [&](FakeSession& session, const FakeSubmission& submission) {
      if (!is_garbage) return echo(session, submission);
      session.accept(submission.user_data);
      session.publish(kind, submission.user_data, std::vector<std::byte>(24, std::byte{0xff}));
      is_garbage = false;
    };
    const FakeDaemon daemon(socket(), script);
    const auto client = connect();
    RecordingSink sink;

    const RequestHandle request =
        submit(*client, text_request("x"), sink, {.job = {}, .stream = true});
    deliver_all(*client);

    EXPECT_EQ(sink.lost(), std::vector<RequestHandle>{request});
    EXPECT_EQ(sink.ends().at(request), 1);
    EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(text_request("x"))));
  }
}

TEST_F(Loss, FollowsADaemonThatClosesTheSession) {
  FakeDaemon daemon(socket(), holding());
  const auto client = connect();
  RecordingSink sink;
  submit(*client, text_request("x"), sink);

  daemon.run([](FakeDaemon& fake) { fake.sessions().front().end().set_flags(ipc::kFlagDead); });
  deliver_all(*client);

  EXPECT_EQ(sink.lost().size(), 1U);
  daemon.run([](FakeDaemon& fake) { fake.script().on_submission = echo; });
  EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(text_request("x"))));
}

TEST_F(Loss, IsNoticedWhileASubmitWaitsForRoom) {
  Script script;
  script.geometry.submission_entries = 2;
  auto daemon = std::make_unique<FakeDaemon>(socket(), script);
  ClientOptions patient = options();
  patient.reconnect_timeout = kPlenty;
  const auto client = connect(patient);
  RecordingSink sink;
  daemon->run([](FakeDaemon& fake) { fake.set_frozen(true); });
  submit(*client, text_request("a"), sink);
  submit(*client, text_request("b"), sink);
  std::thread restarter([&] {
    daemon.reset();
    daemon = std::make_unique<FakeDaemon>(socket());
  });

  const RequestHandle third = submit(*client, text_request("c"), sink);
  restarter.join();
  deliver_all(*client);

  EXPECT_EQ(sink.lost().size(), 2U);
  EXPECT_EQ(sink.results().at(third).choices[0].text, "c");
}

}  // namespace
}  // namespace deepinfer::client
