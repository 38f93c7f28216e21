#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client_sdk/client_fixture.h"
#include "tests/client_sdk/leak_check.h"

namespace deepinfer::client {
namespace {

using Connect = ClientTest;

TEST_F(Connect, KnowsTheModelOfTheDaemon) {
  Script script;
  script.model = "nano";
  const FakeDaemon daemon(socket(), script);

  const auto client = connect();

  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->model().name, "nano");
  EXPECT_EQ(client->unfinished(), 0);
}

TEST_F(Connect, SaysHowToStartADaemonWhenNobodyListens) {
  const ClientError error = connect_error(options());

  EXPECT_EQ(error.fault, ClientFault::kUnreachable);
  EXPECT_EQ(error.code, "daemon_unreachable");
  EXPECT_EQ(error.where, socket().string());
  EXPECT_EQ(error.mend, "start deepinferd, or name its socket");
}

TEST_F(Connect, FindsNobodyBehindAnAbandonedSocket) {
  { const FakeDaemon daemon(socket()); }
  const int left = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket().string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what bind() takes
  ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(left);

  EXPECT_EQ(connect_error(options()).code, "daemon_unreachable");
}

TEST_F(Connect, PassesTheDaemonsRefusalsOn) {
  for (const char* code : {"permission_denied", "over_capacity", "loading", "protocol_mismatch"}) {
    Script script;
    script.greeting = Greeting::kRefusal;
    script.refusal = {.code = code, .what = "because", .mend = "do this", .retry_after_ms = 0};
    const FakeDaemon daemon(socket(), script);

    const ClientError error = connect_error(options());

    EXPECT_EQ(error.fault, ClientFault::kRefused) << code;
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(error.what, "because");
    EXPECT_EQ(error.mend, "do this");
  }
}

TEST_F(Connect, RefusesAnAnswerOfAnotherProtocol) {
  for (const Greeting greeting :
       {Greeting::kOtherProtocol, Greeting::kGarbage, Greeting::kNoDescriptors}) {
    Script script;
    script.greeting = greeting;
    const FakeDaemon daemon(socket(), script);

    const ClientError error = connect_error(options());

    EXPECT_EQ(error.fault, ClientFault::kRefused);
    EXPECT_EQ(error.code, "protocol_mismatch") << error.what;
  }
}

TEST_F(Connect, GivesUpOnADaemonThatDoesNotAnswer) {
  Script script;
  script.greeting = Greeting::kSilence;
  const FakeDaemon daemon(socket(), script);
  ClientOptions impatient = options();
  impatient.connect_timeout = Milliseconds{50};

  const ClientError error = connect_error(impatient);

  EXPECT_EQ(error.fault, ClientFault::kUnreachable);
  EXPECT_EQ(error.code, "daemon_unreachable");
}

TEST_F(Connect, IsUnreachableWhenTheDaemonLeavesInTheHandshake) {
  Script script;
  script.greeting = Greeting::kClose;
  const FakeDaemon daemon(socket(), script);

  const ClientError error = connect_error(options());

  EXPECT_EQ(error.fault, ClientFault::kUnreachable);
  EXPECT_EQ(error.code, "daemon_unreachable");
}

TEST_F(Connect, SaysWhatIsWrongWithAPath) {
  ClientOptions wrong = options();
  wrong.socket = socket().parent_path() / std::string(200, 'x');
  EXPECT_EQ(connect_error(wrong).fault, ClientFault::kUsage);

  write_file(socket(), "no socket");
  const ClientError error = connect_error(options());
  EXPECT_NE(error.fault, ClientFault::kNone);
  EXPECT_NE(error.fault, ClientFault::kRefused);
  EXPECT_NE(error.what, "");
}

TEST_F(Connect, TakesTimesForWhichTheClockHasNoRoom) {
  const FakeDaemon daemon(socket());
  ClientOptions patient = options();
  patient.connect_timeout = Milliseconds::max();
  patient.reconnect_timeout = Milliseconds::max();

  const auto client = connect(patient);

  ASSERT_NE(client, nullptr);
  EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(text_request("x"))));
  EXPECT_TRUE(std::holds_alternative<DaemonStatus>(client->status()));
}

TEST_F(Connect, CutsALongNameBetweenCharacters) {
  const FakeDaemon daemon(socket());  // checks the length
  ClientOptions named = options();
  for (int i = 0; i < 40; ++i) named.name += "\xc3\xa9";

  EXPECT_NE(connect(named), nullptr);
}

TEST_F(Connect, LeavesNothingBehindAfterAThousandSessions) {
  FakeDaemon daemon(socket());

  expect_no_leak(daemon, options(), 1'000);
}

TEST_F(Connect, ForbidsAChildItsParentsClient) {
  const FakeDaemon daemon(socket());
  auto client = connect();
  RecordingSink sink;

  const pid_t child = ::fork();
  if (child == 0) {
    const auto submitted = client->submit(text_request("x"), sink);
    const bool is_refused =
        submitted.error && submitted.error->fault == ClientFault::kUsage &&
        std::get<ClientError>(client->status()).code == "wrong_process" &&
        std::get<ClientError>(client->generate(text_request("x"))).fault == ClientFault::kUsage &&
        client->drain()->fault == ClientFault::kUsage &&
        client->deliver(kPlenty) == Client::Delivered::kNothing && client->unfinished() == 0;
    client.reset();
    ::_exit(is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(text_request("still"))));
}

}  // namespace
}  // namespace deepinfer::client
