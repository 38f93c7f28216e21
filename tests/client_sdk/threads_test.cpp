// Many threads on one Client: every request ends exactly once, whoever waits for what.
#include <atomic>
#include <string>
#include <thread>

#include "tests/client_sdk/client_fixture.h"

namespace deepinfer::client {
namespace {

using Threads = ClientTest;

constexpr int kRounds = 200;

Script small_rings() {
  Script script;
  script.geometry = {.submission_entries = 4,
                     .completion_entries = 8,
                     .arena_bytes = 64U << 10U,
                     .result_bytes = 64U << 10U};
  return script;
}

// Sends `kRounds` requests, at most a few at once, and waits for all of them.
void submit_and_deliver(Client& client, RecordingSink& sink) {
  for (int i = 0; i < kRounds; ++i) {
    const auto submitted =
        client.submit(text_request(std::string(static_cast<std::size_t>(1 + i * 31), 'a')), sink,
                      {.job = {}, .stream = true});
    ASSERT_FALSE(submitted.error) << submitted.error->code;
    if (i % 7 == 0) client.cancel(submitted.request);
    if (i % 5 == 0) client.deliver(Milliseconds{1});
  }
  const auto deadline = std::chrono::steady_clock::now() + kPlenty;
  while (sink.ends().size() < kRounds && std::chrono::steady_clock::now() < deadline) {
    client.deliver(Milliseconds{50});
  }
}

void generate(Client& client, int thread) {
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = std::to_string(thread) + ":" + std::to_string(i);
    const auto answer = client.generate(text_request(text));
    ASSERT_TRUE(std::holds_alternative<RequestResult>(answer));
    ASSERT_EQ(std::get<RequestResult>(answer).choices[0].text, text);
  }
}

void ask(Client& client) {
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_TRUE(std::holds_alternative<DaemonStatus>(client.status()));
  }
}

// What threads do under a daemon that is killed now and then, until they are told to stop.
class Users {
 public:
  explicit Users(Client& client) : client_(client) {}

  void generate() {
    while (!is_over_) {
      const auto answer = client_.generate(text_request("x"));
      if (std::holds_alternative<RequestResult>(answer)) {
        ++answered_;
      } else {
        EXPECT_EQ(std::get<ClientError>(answer).code, "daemon_lost");
      }
    }
  }
  void submit() {
    while (!is_over_) {
      const auto submitted = client_.submit(text_request("y"), sink_);
      ASSERT_FALSE(submitted.error) << submitted.error->code;
    }
  }
  void ask() {
    while (!is_over_) {
      const auto status = client_.status();
      const auto* error = std::get_if<ClientError>(&status);
      EXPECT_TRUE(error == nullptr || error->code == "daemon_lost") << error->code;
    }
  }

  void stop() { is_over_ = true; }
  [[nodiscard]] int answered() const { return answered_; }
  [[nodiscard]] const RecordingSink& sink() const { return sink_; }

 private:
  Client& client_;
  RecordingSink sink_;
  std::atomic<bool> is_over_{false};
  std::atomic<int> answered_{0};
};

void expect_ends_once(const RecordingSink& sink) {
  for (const auto& [request, ends] : sink.ends()) EXPECT_EQ(ends, 1);
}

TEST_F(Threads, ShareOneClient) {
  Script script = small_rings();
  script.on_submission = [](FakeSession& session, const FakeSubmission& submission) {
    if (submission.operation == ipc::Operation::kSubmit && submission.message.stream) {
      session.send_token(submission.user_data, TokenEvent{});
    }
    echo(session, submission);
  };
  const FakeDaemon daemon(socket(), script);
  const auto client = connect();
  RecordingSink first;
  RecordingSink second;
  std::vector<std::thread> threads;
  threads.reserve(7);

  for (int i = 0; i < 4; ++i) threads.emplace_back([&client, i] { generate(*client, i); });
  threads.emplace_back([&] { submit_and_deliver(*client, first); });
  threads.emplace_back([&] { submit_and_deliver(*client, second); });
  threads.emplace_back([&] { ask(*client); });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(client->unfinished(), 0);
  EXPECT_EQ(first.results().size(), static_cast<std::size_t>(kRounds));
  EXPECT_EQ(second.results().size(), static_cast<std::size_t>(kRounds));
  expect_ends_once(first);
  expect_ends_once(second);
}

// The daemon is killed again and again under them: answers or losses, and exactly one for each request.
TEST_F(Threads, OutliveTheirDaemon) {
  auto daemon = std::make_unique<FakeDaemon>(socket(), small_rings());
  ClientOptions patient = options();
  patient.reconnect_timeout = kPlenty;
  const auto client = connect(patient);
  Users users(*client);
  std::vector<std::thread> threads;
  threads.reserve(5);

  for (int i = 0; i < 3; ++i) threads.emplace_back([&users] { users.generate(); });
  threads.emplace_back([&users] { users.submit(); });
  threads.emplace_back([&users] { users.ask(); });
  for (int i = 0; i < 10; ++i) {
    const int before = users.answered();
    EXPECT_TRUE(wait_until([&] { return users.answered() > before; }));
    daemon.reset();
    daemon = std::make_unique<FakeDaemon>(socket(), small_rings());
  }
  users.stop();
  for (std::thread& thread : threads) thread.join();
  deliver_all(*client);

  EXPECT_EQ(client->unfinished(), 0);
  expect_ends_once(users.sink());
}

}  // namespace
}  // namespace deepinfer::client
