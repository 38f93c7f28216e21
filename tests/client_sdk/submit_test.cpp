#include <algorithm>
#include <string>

#include "tests/client_sdk/client_fixture.h"

namespace deepinfer::client {
namespace {

using Submit = ClientTest;

const RequestResult& result_of(const Client::Answer& answer) {
  static const RequestResult none{.request = {}, .prompt_tokens = {}, .choices = {Choice{}}};
  if (const auto* result = std::get_if<RequestResult>(&answer)) return *result;
  const auto* error = std::get_if<ClientError>(&answer);
  ADD_FAILURE() << (error != nullptr ? error->code + ": " + error->what : "refused");
  return none;
}

TEST_F(Submit, CarriesEveryFormOfPrompt) {
  const FakeDaemon daemon(socket());
  const auto client = connect();
  Request tokens;
  tokens.prompt = TokenPrompt{{5, 4, 3}};
  Request chat;
  chat.prompt = ChatPrompt{.messages = "[1]",
                           .tools = "[2]",
                           .response_format = "{}",
                           .thinking = false,
                           .reasoning_effort = 12};

  EXPECT_EQ(result_of(client->generate(text_request("hello"))).choices[0].text, "hello");
  EXPECT_EQ(result_of(client->generate(text_request(""))).choices[0].text, "");
  EXPECT_EQ(result_of(client->generate(tokens)).choices[0].text, "5,4,3,");
  EXPECT_EQ(result_of(client->generate(chat)).choices[0].text, "[1]|[2]|{}|no|12");
}

TEST_F(Submit, CarriesWhatAsksForTheAnswer) {
  ipc::SubmitMessage seen;
  Script script;
  script.on_submission = [&](FakeSession& session, const FakeSubmission& submission) {
    seen = submission.message;
    echo(session, submission);
  };
  FakeDaemon daemon(socket(), script);
  const auto client = connect();
  Request request = text_request("x", "id-1");
  request.sampling.max_tokens = 9;
  request.sampling.seed = 11;
  request.sampling.stop = {"a", "b"};
  request.priority = -3;
  request.deadline = std::chrono::steady_clock::time_point(std::chrono::seconds(1'000'000));
  request.job_seed = 12;

  const auto answer = client->generate(request);
  daemon.settle();

  EXPECT_EQ(result_of(answer).choices[0].content, "id-1");
  EXPECT_EQ(seen.request.sampling.max_tokens, 9);
  EXPECT_EQ(seen.request.sampling.seed, 11U);
  EXPECT_EQ(seen.request.sampling.stop, request.sampling.stop);
  EXPECT_EQ(seen.request.priority, -3);
  EXPECT_EQ(seen.request.deadline, request.deadline);
  EXPECT_EQ(seen.request.job_seed, 12U);
  EXPECT_FALSE(seen.job);
  EXPECT_FALSE(seen.stream);
}

TEST_F(Submit, SaysWhichJobAndWhetherTokensAreWanted) {
  ipc::SubmitMessage seen;
  Script script;
  script.on_submission = [&](FakeSession& session, const FakeSubmission& submission) {
    seen = submission.message;
    echo(session, submission);
  };
  FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink sink;
  const JobId job{.high = 3, .low = 4};

  submit(*client, text_request("x"), sink, {.job = job, .stream = true});
  deliver_all(*client);
  daemon.settle();

  EXPECT_EQ(seen.job, job);
  EXPECT_TRUE(seen.stream);
}

TEST_F(Submit, GivesTheSinkItsOwnHandles) {
  const FakeDaemon daemon(socket());
  const auto client = connect();
  RecordingSink sink;

  const RequestHandle first = submit(*client, text_request("one"), sink);
  const RequestHandle second = submit(*client, text_request("two"), sink);
  EXPECT_EQ(client->unfinished(), 2);
  deliver_all(*client);

  const auto results = sink.results();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_NE(first, second);
  EXPECT_EQ(results.at(first).request, first);
  EXPECT_EQ(results.at(first).choices[0].text, "one");
  EXPECT_EQ(results.at(second).choices[0].text, "two");
}

TEST_F(Submit, StreamsTokensToThoseWhoWantThem) {
  Script script;
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    session.accept(submission.user_data);
    TokenEvent event;
    for (const std::int32_t token : {4, 5}) {
      event.token = token;
      event.text = std::to_string(token);
      session.send_token(submission.user_data, event);
    }
    session.finish(submission.user_data, echo_result("done", ""));
  };
  const FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink silent;
  RecordingSink streaming;

  submit(*client, text_request("x"), silent);
  const RequestHandle request =
      submit(*client, text_request("x"), streaming, {.job = {}, .stream = true});
  deliver_all(*client);

  EXPECT_EQ(silent.tokens().size(), 0U);
  const auto tokens = streaming.tokens();
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[0].request, request);
  EXPECT_EQ(tokens[0].text + tokens[1].text, "45");
  EXPECT_EQ(streaming.results().size(), 1U);
}

TEST_F(Submit, PutsResultsTogetherThatComeInParts) {
  Script script;
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    session.accept(submission.user_data);
    session.finish(submission.user_data, echo_result(prompt_text(session, submission.message), ""),
                   4096);
  };
  const FakeDaemon daemon(socket(), script);
  const auto client = connect();
  const std::string text(100'000, 'y');

  EXPECT_EQ(result_of(client->generate(text_request(text))).choices[0].text, text);
}

TEST_F(Submit, TellsOfRefusals) {
  Script script;
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    session.refuse(submission.user_data,
                   {.code = "prompt_too_long", .message = "9 tokens, 8 fit", .param = "/prompt"});
  };
  const FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink sink;

  const RequestHandle request = submit(*client, text_request("x"), sink);
  deliver_all(*client);
  const auto answer = client->generate(text_request("x"));

  ASSERT_EQ(sink.refusals().size(), 1U);
  EXPECT_EQ(sink.refusals().at(request).code, "prompt_too_long");
  ASSERT_TRUE(std::holds_alternative<RequestError>(answer));
  EXPECT_EQ(std::get<RequestError>(answer).param, "/prompt");
}

// The smallest rings and arenas that there are, and prompts that fill a good part of them.
TEST_F(Submit, WaitsForRoomAndKeepsTheOrder) {
  Script script;
  script.geometry = {.submission_entries = 2,
                     .completion_entries = 2,
                     .arena_bytes = 64U << 10U,
                     .result_bytes = 64U << 10U};
  std::vector<std::string> seen;
  script.on_submission = [&](FakeSession& session, const FakeSubmission& submission) {
    seen.push_back(submission.message.request.custom_id);
    echo(session, submission);
  };
  FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink sink;
  std::vector<std::string> sent;

  for (int i = 0; i < 500; ++i) {
    sent.push_back(std::to_string(i));
    const std::string text(static_cast<std::size_t>(1 + i * 37 % 20'000), 'z');
    submit(*client, text_request(text, sent.back()), sink);
  }
  deliver_all(*client);
  daemon.settle();

  EXPECT_EQ(sink.results().size(), 500U);
  EXPECT_EQ(seen, sent);
}

TEST_F(Submit, RefusesWhatNoArenaCouldHold) {
  const FakeDaemon daemon(socket());
  const auto client = connect();
  RecordingSink sink;

  const auto submitted = client->submit(text_request(std::string(300'000, 'x')), sink);

  ASSERT_TRUE(submitted.error);
  EXPECT_EQ(submitted.error->fault, ClientFault::kRefused);
  EXPECT_EQ(submitted.error->code, "cannot_fit");
  EXPECT_NE(submitted.error->what.find("300000"), std::string::npos) << submitted.error->what;
  EXPECT_EQ(client->unfinished(), 0);
  // The bytes alone would have room; what each piece costs besides makes the difference.
  Request chat;
  const std::string half(130'990, 'x');
  chat.prompt = ChatPrompt{.messages = half, .tools = half};
  const auto again = client->submit(chat, sink);
  ASSERT_TRUE(again.error);
  EXPECT_EQ(again.error->code, "cannot_fit");
  EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(text_request("small"))));
}

TEST_F(Submit, PutsGreatDescriptorsIntoTheArena) {
  const FakeDaemon daemon(socket());
  const auto client = connect();
  Request request = text_request("x", "id");
  for (std::int32_t i = 0; i < 300; ++i) request.sampling.logit_bias[i] = 1;

  EXPECT_EQ(result_of(client->generate(request)).choices[0].content, "id");
}

TEST_F(Submit, RefusesMoreThanTheDaemonAllows) {
  Script script;
  script.max_unfinished = 2;
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    session.accept(submission.user_data);
  };
  FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink sink;
  const RequestHandle first = submit(*client, text_request("x"), sink);
  submit(*client, text_request("x"), sink);

  const auto third = client->submit(text_request("x"), sink);
  daemon.run([&](FakeDaemon& fake) {
    fake.sessions().front().finish(static_cast<std::uint64_t>(first), echo_result("", ""));
  });

  ASSERT_TRUE(third.error);
  EXPECT_EQ(third.error->fault, ClientFault::kRefused);
  EXPECT_EQ(third.error->code, "over_capacity");
  EXPECT_FALSE(client->submit(text_request("x"), sink).error);
}

TEST_F(Submit, DoesNotWaitForEverForAStoppedDaemon) {
  Script script;
  script.geometry.submission_entries = 2;
  FakeDaemon daemon(socket(), script);
  ClientOptions impatient = options();
  const auto patient = connect();
  impatient.connect_timeout = Milliseconds{100};
  const auto client = connect(impatient);
  daemon.run([](FakeDaemon& fake) { fake.set_frozen(true); });
  RecordingSink sink;
  std::optional<ClientError> error;

  for (int i = 0; i < 3 && !error; ++i) error = client->submit(text_request("x"), sink).error;
  const auto asked = client->status();

  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "daemon_stalled");
  EXPECT_EQ(error->fault, ClientFault::kUnreachable);
  ASSERT_TRUE(std::holds_alternative<ClientError>(asked));
  EXPECT_EQ(std::get<ClientError>(asked).code, "daemon_stalled");
  // It goes on as if nothing had been.
  daemon.run([](FakeDaemon& fake) { fake.set_frozen(false); });
  deliver_all(*client);
  EXPECT_EQ(sink.results().size(), 2U);
  EXPECT_TRUE(std::holds_alternative<DaemonStatus>(patient->status()));
}

TEST_F(Submit, AsksForRequestsToBeCancelled) {
  std::vector<std::uint64_t> cancelled;
  Script script;
  script.geometry.submission_entries = 2;
  script.on_submission = [&](FakeSession& session, const FakeSubmission& submission) {
    if (submission.operation == ipc::Operation::kSubmit) {
      session.accept(submission.user_data);
      return;
    }
    cancelled.push_back(submission.user_data);
    RequestResult result = echo_result("so far", "");
    result.choices[0].reason = FinishReason::kCancelled;
    session.finish(submission.user_data, result);
  };
  FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink sink;
  std::vector<RequestHandle> requests;
  requests.reserve(8);
  for (int i = 0; i < 8; ++i) requests.push_back(submit(*client, text_request("x"), sink));

  EXPECT_FALSE(client->cancel(RequestHandle{9999}));
  for (const RequestHandle request : requests) EXPECT_TRUE(client->cancel(request));
  deliver_all(*client);
  daemon.settle();

  EXPECT_FALSE(client->cancel(requests.front()));
  EXPECT_EQ(cancelled.size(), 8U);
  EXPECT_EQ(sink.results().at(requests.front()).choices[0].reason, FinishReason::kCancelled);
}

TEST_F(Submit, DeliversNothingAtOnceWhenNothingIsUnfinished) {
  const FakeDaemon daemon(socket());
  const auto client = connect();

  EXPECT_EQ(client->deliver(Milliseconds::max()), Client::Delivered::kNothing);
  EXPECT_EQ(client->deliver(Milliseconds{-5}), Client::Delivered::kNothing);
}

TEST_F(Submit, DeliversNothingWhenTheTimeIsUp) {
  Script script;
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    session.accept(submission.user_data);
  };
  FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink sink;
  submit(*client, text_request("x"), sink);

  EXPECT_EQ(client->deliver(Milliseconds{0}), Client::Delivered::kNothing);
  EXPECT_EQ(client->deliver(Milliseconds{20}), Client::Delivered::kNothing);
  EXPECT_EQ(client->unfinished(), 1);
}

// Submits the next request from inside the sink until there have been enough.
class ChainSink final : public ClientSink {
 public:
  static constexpr int kEnough = 50;

  explicit ChainSink(Client& client) : client_(client) {}
  void on_token(const TokenEvent& /*event*/) override {}
  void on_finished(RequestResult /*result*/) override {
    ++finished_;
    waited_ = waited_ || client_.deliver(kPlenty) == Client::Delivered::kSomething ||
              !std::holds_alternative<ClientError>(client_.generate(text_request("no")));
    if (finished_ == kEnough) return;
    EXPECT_FALSE(client_.submit(text_request("next"), *this).error);
  }
  void on_refused(RequestHandle /*request*/, const RequestError& /*error*/) override {}
  void on_lost(RequestHandle /*request*/) override {}
  [[nodiscard]] int finished() const { return finished_; }
  [[nodiscard]] bool has_waited() const { return waited_; }

 private:
  Client& client_;
  int finished_ = 0;
  bool waited_ = false;
};

TEST_F(Submit, LetsASinkSubmitButNotWait) {
  Script script;
  script.max_unfinished = 1;
  const FakeDaemon daemon(socket(), script);
  const auto client = connect();
  ChainSink sink(*client);

  submit(*client, text_request("first"), sink);
  deliver_all(*client);

  EXPECT_EQ(sink.finished(), ChainSink::kEnough);
  EXPECT_FALSE(sink.has_waited());
}

TEST_F(Submit, EndsTheSessionWithTheClient) {
  Script script;
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    session.accept(submission.user_data);
  };
  FakeDaemon daemon(socket(), script);
  RecordingSink sink;
  auto client = connect();
  submit(*client, text_request("x"), sink);
  ASSERT_TRUE(wait_until([&] { return daemon.session_count() == 1; }));

  client.reset();

  EXPECT_TRUE(wait_until([&] { return daemon.session_count() == 0; }));
  EXPECT_TRUE(sink.ends().empty());
}

}  // namespace
}  // namespace deepinfer::client
