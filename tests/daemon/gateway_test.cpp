#include "daemon/gateway.h"

#include <gmock/gmock.h>

#include "tests/daemon/daemon_parts.h"

namespace deepinfer::daemon {
namespace {

using ipc::CompletionKind;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class GatewayTest : public DaemonPartsTest {
 protected:
  [[nodiscard]] static ipc::SubmitMessage of_job(JobId job) {
    ipc::SubmitMessage message;
    message.job = job;
    return message;
  }
  JobId open_job(std::uint64_t session, JobTable::Kind kind = JobTable::Kind::kNamed) {
    const JobId id{2, next_job++};
    jobs.open({}, {id, 1000, SessionId{session}, kind, {}});
    return id;
  }
};

TEST_F(GatewayTest, AnswersWhatItIsAsked) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.submit(7, "Hello");
  serve(session);

  ASSERT_TRUE(hears(client, 7));
  ASSERT_THAT(client.heard, SizeIs(2));
  EXPECT_EQ(client.heard[0].kind, CompletionKind::kAccepted);
  EXPECT_EQ(client.heard[1].kind, CompletionKind::kResult);
  EXPECT_EQ(client.heard[1].result().choices.at(0).text, "t0 t1 t2 t3 ");
  EXPECT_EQ(client.heard[1].result().prompt_tokens.size(), 5U);
  EXPECT_EQ(gateway.counts().finished, 1);
  EXPECT_TRUE(gateway.is_idle());
}

TEST_F(GatewayTest, StreamsTokensToWhomAsksForThem) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  ipc::SubmitMessage message;
  message.stream = true;
  client.submit(7, "Hello", message);
  serve(session);

  ASSERT_TRUE(run_until([&] {
    client.take_all();
    return !client.heard.empty() && client.heard.back().kind == CompletionKind::kResult;
  }));

  ASSERT_THAT(client.heard, SizeIs(6));  // accepted, four tokens, the result
  for (std::size_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(client.heard[i].kind, CompletionKind::kTokens);
    EXPECT_EQ(client.heard[i].token().text, "t" + std::to_string(i - 1) + " ");
  }
}

TEST_F(GatewayTest, KeepsTheOrderOfASession) {
  Session& session = open_session(1, {64, 256, 64U << 10U, 64U << 10U});
  TestClient client = TestClient::of(*session.end);
  for (std::uint64_t i = 0; i < 40; ++i) client.submit(i, "Hello");
  serve(session);

  ASSERT_TRUE(hears(client, 39));
  std::vector<std::uint64_t> order;
  for (const Heard& one : client.heard) {
    if (one.kind == CompletionKind::kResult) order.push_back(one.user_data);
  }
  ASSERT_THAT(order, SizeIs(40));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(GatewayTest, RefusesWhatTheEngineWouldRefuse) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.submit(7, "refuse");
  client.submit(8, "Hello");
  serve(session);

  ASSERT_TRUE(hears(client, 7));
  EXPECT_EQ(client.last_of(7)->error().code, "invalid_value");
  EXPECT_EQ(client.last_of(7)->error().param, "/prompt");
  ASSERT_TRUE(hears(client, 8));
  EXPECT_EQ(gateway.counts().refused, 1);
}

TEST_F(GatewayTest, RefusesABadDescriptorAloneAndServesTheNext) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.send(ipc::Operation::kSubmit, 1, {1, 2, 3});
  ipc::SubmitMessage outside;
  outside.prompt = ipc::TextSpans{{~std::uint64_t{7}, 16}};
  ipc::Words words;
  ipc::encode(outside, words);
  client.send(ipc::Operation::kSubmit, 2, words);
  client.submit(3, "Hello");
  serve(session);

  for (const std::uint64_t bad : {1U, 2U}) {
    ASSERT_TRUE(hears(client, bad));
    EXPECT_EQ(client.last_of(bad)->error().code, "bad_descriptor");
  }
  ASSERT_TRUE(hears(client, 3));
  EXPECT_EQ(client.last_of(3)->kind, CompletionKind::kResult);
  EXPECT_TRUE(gateway.take_broken().empty());
}

TEST_F(GatewayTest, RefusesANumberThatIsInUse) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.submit(7, "hold");
  client.submit(7, "Hello");
  serve(session);

  ASSERT_TRUE(hears(client, 7));
  EXPECT_THAT(client.last_of(7)->error().message, HasSubstr("in use"));
  gateway.close_session(SessionId{1});
}

TEST_F(GatewayTest, RefusesPromptsThatClaimMoreThanTheArena) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  ipc::SubmitMessage all;
  all.prompt = ipc::TextSpans{{0, 40U << 10U}};
  ipc::Words words;
  ipc::encode(all, words);
  client.send(ipc::Operation::kSubmit, 1, words);
  client.send(ipc::Operation::kSubmit, 2, words);
  serve(session);

  ASSERT_TRUE(hears(client, 2));
  EXPECT_EQ(client.last_of(2)->error().code, "bad_descriptor");
  ASSERT_TRUE(hears(client, 1));  // was within its bounds
  client.send(ipc::Operation::kSubmit, 3, words);
  serve(session);
  ASSERT_TRUE(hears(client, 3));
  EXPECT_EQ(client.last_of(3)->kind, CompletionKind::kResult);
}

TEST_F(GatewayTest, RefusesBeyondTheLimitsAndWhileDraining) {
  Session& session = open_session(1, {128, 512, 64U << 10U, 64U << 10U});
  TestClient client = TestClient::of(*session.end);
  for (std::uint64_t i = 0; i < 60; ++i) client.submit(i, "hold");
  serve(session);

  ASSERT_TRUE(hears(client, 59));
  EXPECT_EQ(client.last_of(59)->error().code, "over_capacity");
  EXPECT_EQ(client.last_of(49), nullptr);

  state = DaemonState::kDraining;
  client.submit(100, "Hello");
  serve(session);
  ASSERT_TRUE(hears(client, 100));
  EXPECT_EQ(client.last_of(100)->error().code, "draining");
  EXPECT_FALSE(gateway.is_idle());
  released = true;
  ASSERT_TRUE(run_until([&] {
    client.take_all();
    engine.post({});  // the script does not wake the engine's thread
    static_cast<void>(gateway.flush_waiting());
    return gateway.is_idle();
  }));
  EXPECT_EQ(gateway.counts().finished, 50);
}

TEST_F(GatewayTest, CancelsOneRequest) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.submit(7, "hold");
  client.send(ipc::Operation::kCancel, 7);
  client.send(ipc::Operation::kCancel, 99);  // of nothing
  serve(session);

  ASSERT_TRUE(hears(client, 7));
  EXPECT_EQ(client.last_of(7)->result().choices[0].reason, FinishReason::kCancelled);
}

TEST_F(GatewayTest, CountsAndCancelsByJob) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  const JobId job = open_job(1);
  client.submit(1, "hold", of_job(job));
  client.submit(2, "Hello", of_job(job));
  client.submit(3, "hold");
  serve(session);
  ASSERT_TRUE(hears(client, 2));
  EXPECT_EQ(jobs.find(job)->info.counts.completed, 1);
  EXPECT_EQ(jobs.find(job)->info.counts.running, 1);

  gateway.cancel_job(job);

  ASSERT_TRUE(hears(client, 1));
  EXPECT_EQ(jobs.find(job)->info.state, JobState::kCancelled);
  EXPECT_EQ(jobs.find(job)->info.counts.cancelled, 1);
  EXPECT_EQ(client.last_of(3), nullptr);
  client.submit(4, "Hello", of_job(job));
  serve(session);
  ASSERT_TRUE(hears(client, 4));
  EXPECT_EQ(client.last_of(4)->error().code, "job_cancelled");
  gateway.close_session(SessionId{1});
}

TEST_F(GatewayTest, KnowsNoJobOfAnotherSession) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.submit(1, "Hello", of_job(open_job(2)));
  client.submit(2, "Hello", of_job({9, 9}));
  serve(session);

  for (const std::uint64_t one : {1U, 2U}) {
    ASSERT_TRUE(hears(client, one));
    EXPECT_EQ(client.last_of(one)->error().code, "unknown_job");
  }
}

TEST_F(GatewayTest, LosesNothingWhenTheClientDoesNotRead) {
  Session& session = open_session(1);  // a ring of 16 completions
  TestClient client = TestClient::of(*session.end);
  constexpr std::uint64_t kRequests = 40;
  std::uint64_t next = 0;
  while (next < kRequests) {
    for (int i = 0; i < 10; ++i) client.submit(next++, "Hello");
    serve(session);
  }
  ASSERT_TRUE(run_until([&] { return gateway.counts().finished == kRequests; }));
  EXPECT_FALSE(gateway.is_idle());
  EXPECT_GT(waiting_notes, 0);

  ASSERT_TRUE(run_until([&] {
    client.take_all();
    return !gateway.flush_waiting().is_waiting;
  }));
  client.take_all();

  std::vector<std::uint64_t> ended;
  for (const Heard& one : client.heard) {
    if (one.kind == CompletionKind::kResult) ended.push_back(one.user_data);
  }
  ASSERT_THAT(ended, SizeIs(kRequests));
  EXPECT_TRUE(std::is_sorted(ended.begin(), ended.end()));
  EXPECT_TRUE(gateway.is_idle());
}

TEST_F(GatewayTest, ForgetsASessionThatIsGone) {
  Session& session = open_session(1);
  {
    TestClient client = TestClient::of(*session.end);
    client.submit(1, "hold");
    client.submit(2, "Hello");
    serve(session);
  }
  gateway.close_session(SessionId{1});  // with an encoding on the pool

  EXPECT_TRUE(gateway.is_idle());
  EXPECT_EQ(gateway.counts().queued + gateway.counts().running, 0);
  EXPECT_EQ(jobs.running(), 0);
  Session& other = open_session(2);
  TestClient client = TestClient::of(*other.end);
  client.submit(1, "Hello");
  serve(other);
  EXPECT_TRUE(hears(client, 1));
}

TEST_F(GatewayTest, TellsEverybodyWhatIsLost) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.submit(1, "hold");
  client.submit(2, "hold");
  serve(session);
  ASSERT_TRUE(run_until([&] { return gateway.counts().running == 2; }));

  gateway.lose_all();

  client.take_all();
  EXPECT_EQ(client.last_of(1)->kind, CompletionKind::kLost);
  EXPECT_EQ(client.last_of(2)->kind, CompletionKind::kLost);
  EXPECT_TRUE(gateway.is_idle());
}

TEST_F(GatewayTest, OpensAnotherUnnamedJobWhenItsOwnIsForgotten) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.submit(1, "Hello");
  serve(session);
  ASSERT_TRUE(hears(client, 1));
  gateway.cancel_job(*session.unnamed_job);
  for (std::size_t i = 0; i <= kKeptJobs; ++i) jobs.close(open_job(2), {});
  ASSERT_EQ(jobs.find(*session.unnamed_job), nullptr);

  client.submit(2, "Hello");
  serve(session);

  EXPECT_TRUE(hears(client, 2));
}

TEST_F(GatewayTest, GivesUpOnAClientThatOnlyWrites) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  std::vector<Gateway::Broken> broken;
  for (std::uint64_t i = 0; i < 10'000 && broken.empty(); ++i) {
    client.send(ipc::Operation::kNothing, i);
    serve(session);
    broken = gateway.take_broken();
  }

  ASSERT_THAT(broken, SizeIs(1));
  EXPECT_THAT(broken[0].reason, HasSubstr("does not read"));
  EXPECT_LE(session.writer.waiting(), 400U);
}

TEST_F(GatewayTest, CountsEveryChoiceAgainstTheLimits) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  ipc::SubmitMessage many;
  many.request.sampling.n = 40;
  client.submit(1, "hold", many);
  client.submit(2, "hold", many);
  serve(session);

  ASSERT_TRUE(hears(client, 2));
  EXPECT_EQ(client.last_of(2)->error().code, "over_capacity");
  gateway.close_session(SessionId{1});
}

TEST_F(GatewayTest, CancelsARequestOnceHoweverOftenItIsAsked) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.submit(7, "hold");
  for (int i = 0; i < 10; ++i) client.send(ipc::Operation::kCancel, 7);
  serve(session);
  ASSERT_TRUE(hears(client, 7));
  EXPECT_EQ(gateway.counts().finished, 1);
}

TEST_F(GatewayTest, AnswersANullRequestAtOnce) {
  Session& session = open_session(1);
  TestClient client = TestClient::of(*session.end);
  client.send(ipc::Operation::kNothing, 42);
  serve(session);
  client.take_all();

  ASSERT_THAT(client.heard, SizeIs(1));
  EXPECT_EQ(client.heard[0].kind, CompletionKind::kNothingDone);
  EXPECT_EQ(client.heard[0].user_data, 42U);
}

}  // namespace
}  // namespace deepinfer::daemon
