// The daemon's door over a real socket, in one process: hellos, refusals, limits.
#include "daemon/clients.h"

#include <gmock/gmock.h>

#include "tests/daemon/daemon_parts.h"

namespace deepinfer::daemon {
namespace {

using ::testing::HasSubstr;

class ClientsTest : public DaemonPartsTest {
 protected:
  ClientsTest()
      : control({jobs, gateway, [] { return DaemonStatus{}; }, [] { return std::nullopt; },
                 [] { return std::nullopt; }, [] { return JobTable::Time{}; },
                 [this] {
                   return JobId{3, next_job++};
                 }}),
        clients({loop, gateway, control, *log, manual_clock, PeerPolicy{{}, {}, 0}, kSmall, 2, 50,
                 77, "0.1.0", [this] { return state; }, [] { return ModelFacts{}; },
                 [] { return std::uint64_t{TestClient::kSession}; }, [] {}},
                *ipc::Listener::open(folder / "d.sock", 0600)) {}

  [[nodiscard]] FileDescriptor connect() {
    auto socket = ipc::connect_to(folder / "d.sock", std::chrono::seconds(5));
    EXPECT_TRUE(socket);
    return *std::move(socket);
  }
  void say(const FileDescriptor& socket, const ipc::Words& words) {
    const auto sent = ipc::send_datagram(socket.number(), ipc::bytes_of(words), {});
    EXPECT_TRUE(sent && *sent);
  }
  void say(const FileDescriptor& socket, const ipc::Hello& hello) {
    ipc::Words words;
    ipc::encode(hello, words);
    say(socket, words);
  }
  // The daemon's next datagram, or nothing when it has closed.
  [[nodiscard]] std::optional<ipc::Datagram> hear(const FileDescriptor& socket) {
    std::optional<ipc::Datagram> heard;
    bool is_closed = false;
    EXPECT_TRUE(run_until([&] {
      auto received = ipc::receive_datagram(socket.number(), ipc::kMaxControlBytes, 3);
      is_closed = !received;
      if (received && *received) heard = **std::move(received);
      return is_closed || heard.has_value();
    }));
    return heard;
  }
  [[nodiscard]] ipc::HelloReply greet(const FileDescriptor& socket, const ipc::Hello& hello = {}) {
    say(socket, hello);
    const auto heard = hear(socket);
    if (!heard) return ipc::Refusal{"closed", "", "", 0};
    return *ipc::decode_hello_reply(*ipc::to_words(heard->bytes));
  }
  [[nodiscard]] static std::string code_of(const ipc::HelloReply& reply) {
    const auto* refusal = std::get_if<ipc::Refusal>(&reply);
    return refusal == nullptr ? "welcome" : refusal->code;
  }

  ManualClock manual_clock;
  Control control;
  Clients clients;
};

TEST_F(ClientsTest, WelcomesWithThreeDescriptorsAndWhatWasGranted) {
  const FileDescriptor socket = connect();
  ipc::Hello hello;
  hello.wanted.submission_entries = 4;
  hello.wanted.result_bytes = 128U << 20U;  // more than there is
  say(socket, hello);
  const auto heard = hear(socket);

  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->descriptors.size(), 3U);
  const auto reply = *ipc::decode_hello_reply(*ipc::to_words(heard->bytes));
  const auto& welcome = std::get<ipc::Welcome>(reply);
  EXPECT_EQ(welcome.granted.submission_entries, 4U);
  EXPECT_EQ(welcome.granted.completion_entries, kSmall.completion_entries);
  EXPECT_EQ(welcome.granted.result_bytes, kSmall.result_bytes);
  EXPECT_EQ(welcome.epoch, 77U);
  EXPECT_EQ(clients.sessions(), 1);
}

TEST_F(ClientsTest, RefusesMoreSessionsThanItMayHaveButStillAnswersQuestions) {
  const FileDescriptor first = connect();
  const FileDescriptor second = connect();
  EXPECT_EQ(code_of(greet(first)), "welcome");
  EXPECT_EQ(code_of(greet(second)), "welcome");

  EXPECT_EQ(code_of(greet(connect())), "over_capacity");
  const FileDescriptor control_socket = connect();
  ipc::Hello hello;
  hello.kind = ipc::ConnectionKind::kControl;
  EXPECT_EQ(code_of(greet(control_socket, hello)), "welcome");
  ipc::Words words;
  ipc::encode(ipc::ControlRequest{9, ipc::StatusQuery{}}, words);
  say(control_socket, words);
  const auto heard = hear(control_socket);
  ASSERT_TRUE(heard);
  const auto reply = ipc::decode_control_reply(*ipc::to_words(heard->bytes));
  EXPECT_EQ(reply->number, 9U);
  EXPECT_TRUE(std::holds_alternative<DaemonStatus>(reply->reply));
}

TEST_F(ClientsTest, RefusesASessionWhileItsModelLoads) {
  state = DaemonState::kLoading;

  EXPECT_EQ(code_of(greet(connect())), "loading");
}

TEST_F(ClientsTest, HangsUpOnThoseWhoSayNothingInTime) {
  const FileDescriptor silent = connect();
  ASSERT_TRUE(run_until([&] { return uv_loop_alive(loop.get()) != 0; }));
  static_cast<void>(uv_run(loop.get(), UV_RUN_NOWAIT));
  manual_clock.advance(std::chrono::seconds(3));

  EXPECT_FALSE(hear(silent));
}

TEST_F(ClientsTest, ForgetsAClientThatHasGone) {
  {
    const FileDescriptor socket = connect();
    EXPECT_EQ(code_of(greet(socket)), "welcome");
  }
  EXPECT_TRUE(run_until([&] { return clients.sessions() == 0; }));
  EXPECT_THAT(content_of(folder / "log"), HasSubstr("session closed"));
}

TEST_F(ClientsTest, HangsUpOnAQuestionThatCannotBeRead) {
  const FileDescriptor socket = connect();
  EXPECT_EQ(code_of(greet(socket)), "welcome");
  say(socket, ipc::Words{1, 2, 3});

  EXPECT_FALSE(hear(socket));
  EXPECT_EQ(clients.sessions(), 0);
}

TEST_F(ClientsTest, OpensNamedJobsForASession) {
  const FileDescriptor socket = connect();
  EXPECT_EQ(code_of(greet(socket)), "welcome");
  JobOptions options;
  options.name = "nightly";
  ipc::Words words;
  ipc::encode(ipc::ControlRequest{1, ipc::OpenJob{options}}, words);
  say(socket, words);
  const auto heard = hear(socket);
  ASSERT_TRUE(heard);
  const auto reply = ipc::decode_control_reply(*ipc::to_words(heard->bytes));

  const JobId job = std::get<JobId>(reply->reply);
  EXPECT_EQ(jobs.find(job)->info.name, "nightly");
  EXPECT_EQ(jobs.running(), 1);
}

TEST_F(ClientsTest, ClosesAJobOnlyAfterWhatWasSubmittedToIt) {
  const FileDescriptor socket = connect();
  say(socket, ipc::Hello{});
  auto welcomed = hear(socket);
  ASSERT_TRUE(welcomed);
  const auto reply = *ipc::decode_hello_reply(*ipc::to_words(welcomed->bytes));
  TestClient client(*ipc::ClientEnd::attach(
      {std::move(welcomed->descriptors[0]), std::move(welcomed->descriptors[1]),
       std::move(welcomed->descriptors[2])},
      std::get<ipc::Welcome>(reply).granted, TestClient::kSession));
  const auto ask = [&](const ipc::Question& question) {
    ipc::Words words;
    ipc::encode(ipc::ControlRequest{1, question}, words);
    say(socket, words);
    return ipc::decode_control_reply(*ipc::to_words(hear(socket)->bytes))->reply;
  };
  const JobId job = std::get<JobId>(ask(ipc::OpenJob{}));
  ipc::SubmitMessage message;
  message.job = job;
  for (std::uint64_t i = 0; i < 16; ++i) client.submit(i, "Hello", message);

  EXPECT_TRUE(std::holds_alternative<ipc::Nothing>(ask(ipc::CloseJob{job})));

  EXPECT_TRUE(run_until([&] { return jobs.find(job)->info.state == JobState::kCompleted; }));
  EXPECT_EQ(jobs.find(job)->info.counts.completed, 16);
}

TEST_F(ClientsTest, ListsJobsInPagesThatFitIntoADatagram) {
  JobOptions wordy;
  for (int i = 0; i < 16; ++i) {
    wordy.metadata[std::string(62, 'k') + std::to_string(10 + i)] = std::string(512, 'v');
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    jobs.open(wordy, {{4, i}, 1000, SessionId{1}, JobTable::Kind::kNamed, {}});
  }
  const FileDescriptor socket = connect();
  ipc::Hello hello;
  hello.kind = ipc::ConnectionKind::kControl;
  EXPECT_EQ(code_of(greet(socket, hello)), "welcome");
  std::size_t listed = 0;
  ipc::JobsQuery query;
  bool has_more = true;
  while (has_more) {
    ipc::Words words;
    ipc::encode(ipc::ControlRequest{1, query}, words);
    say(socket, words);
    const auto heard = hear(socket);
    ASSERT_TRUE(heard);
    const auto reply = ipc::decode_control_reply(*ipc::to_words(heard->bytes));
    const auto& page = std::get<ipc::JobsPage>(reply->reply);
    ASSERT_FALSE(page.jobs.empty());
    listed += page.jobs.size();
    query.before = page.jobs.back().id;
    has_more = page.has_more;
  }

  EXPECT_EQ(listed, 40U);
}

}  // namespace
}  // namespace deepinfer::daemon
