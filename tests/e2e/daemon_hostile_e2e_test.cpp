// Clients that break every rule, against the real daemon: it closes that one session, and goes on.
#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <random>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/e2e/daemon_fixture.h"
#include "tests/e2e/raw_session.h"

namespace deepinfer::e2e {
namespace {

using ::testing::AnyOf;

class HostileClient : public DaemonTest {
 protected:
  void SetUp() override { start_daemon(); }
  // An honest client is served, and nothing of the others is left.
  void TearDown() override {
    const auto client = connect();
    ASSERT_NE(client, nullptr);
    Request request;
    request.prompt = TextPrompt{"Hello"};
    request.sampling.max_tokens = 2;
    EXPECT_TRUE(std::holds_alternative<RequestResult>(client->generate(request)));
    EXPECT_TRUE(
        eventually([&] { return status().sessions == 2; }));  // this one and that of status()
    EXPECT_FALSE(daemon->has_ended());
  }
  [[nodiscard]] RawSession open() const {
    auto session = raw_session(socket());
    if (!session) std::abort();
    return *std::move(session);
  }
};

std::vector<std::byte> noise(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> noise(bytes);
  for (std::byte& one : noise) one = static_cast<std::byte>(random());
  return noise;
}

std::vector<std::byte> hello_bytes(const ipc::Hello& hello) {
  ipc::Words words;
  ipc::encode(hello, words);
  const auto bytes = ipc::bytes_of(words);
  return {bytes.begin(), bytes.end()};
}

TEST_F(HostileClient, IsHungUpOnWhenItSendsNoHelloThatCanBeRead) {
  for (const std::size_t bytes : {1U, 7U, 8U, 64U, 1000U, 4096U, 4097U, 100'000U}) {
    const FileDescriptor socket_of_client = raw_connect(socket());
    raw_send(socket_of_client.number(), noise(bytes, static_cast<std::uint32_t>(bytes)), {});
    EXPECT_TRUE(is_hung_up(socket_of_client.number())) << bytes;
  }
}

TEST_F(HostileClient, IsHungUpOnWhenItSendsDescriptors) {
  const FileDescriptor socket_of_client = raw_connect(socket());
  const FileDescriptor gift(::eventfd(0, EFD_CLOEXEC));
  raw_send(socket_of_client.number(), hello_bytes({}), std::vector<int>(8, gift.number()));
  EXPECT_TRUE(is_hung_up(socket_of_client.number()));
}

TEST_F(HostileClient, IsToldWhichProtocolTheDaemonSpeaks) {
  for (const int what : {0, 1, 2}) {
    ipc::Hello hello;
    if (what == 0) hello.abi_major = 9;
    if (what == 1) hello.layout ^= 1U;
    if (what == 2) hello.magic = 0;
    const FileDescriptor socket_of_client = raw_connect(socket());
    raw_send(socket_of_client.number(), hello_bytes(hello), {});
    ASSERT_TRUE(ipc::wait_readable(socket_of_client.number(), std::chrono::seconds(20)));
    const auto datagram =
        ipc::receive_datagram(socket_of_client.number(), ipc::kMaxControlBytes, 0);
    ASSERT_TRUE(datagram && *datagram);
    const auto reply = ipc::decode_hello_reply(*ipc::to_words((*datagram)->bytes));
    ASSERT_TRUE(reply && std::holds_alternative<ipc::Refusal>(*reply));
    EXPECT_EQ(std::get<ipc::Refusal>(*reply).code, "protocol_mismatch");
    EXPECT_TRUE(is_hung_up(socket_of_client.number()));
  }
}

TEST_F(HostileClient, MayDieAtEachStepOfTheHandshake) {
  for (int i = 0; i < 30; ++i) {
    static_cast<void>(raw_connect(socket()));  // gone at once
    {
      const FileDescriptor silent = raw_connect(socket());
      raw_send(silent.number(), hello_bytes({}), {});  // gone before the welcome
    }
    {
      const RawSession session = open();  // gone with everything in hand
    }
    {
      const RawSession session = open();
      session.client().published.value.store(1);  // announced, never written, never rung
    }
  }
}

TEST_F(HostileClient, IsHungUpOnWhenItNeverSaysHello) {
  const FileDescriptor silent = raw_connect(socket());
  EXPECT_TRUE(is_hung_up(silent.number()));
}

TEST_F(HostileClient, CannotResizeOrWriteWhatTheDaemonReadsFrom) {
  const RawSession session = open();
  for (const int which : {0, 1}) {
    const int memory = session.descriptors[static_cast<std::size_t>(which)].number();
    EXPECT_EQ(::ftruncate(memory, 0), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::ftruncate(memory, 1LL << 40), -1);
    EXPECT_EQ(errno, EPERM);
  }
  EXPECT_FALSE(ipc::Mapping::map(session.descriptors[1].number(),
                                 ipc::d2c_bytes(session.welcome.granted), ipc::Access::kReadWrite));
  ::fallocate(session.descriptors[0].number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(ipc::c2d_bytes(session.welcome.granted)));
}

TEST_F(HostileClient, IsClosedWhenItsIndexOfSubmissionsLeavesItsWindow) {
  for (const std::uint32_t step : {257U, 1000U, 0x80000000U, 0xffffffffU}) {
    const RawSession session = open();
    session.put({}, {}, step);
    EXPECT_TRUE(is_hung_up(session.socket.number())) << step;
  }
}

bool is_dead(const RawSession& session) {
  return (session.daemon().flags.value.load() & ipc::kFlagDead) != 0;
}

// Until there is room for one more submission; false when the session is closed.
bool waits_for_room(const RawSession& session, std::uint32_t index) {
  while (!is_dead(session)) {
    if (index - session.daemon().consumed.value.load() < 200) return true;
  }
  return false;
}

TEST_F(HostileClient, IsClosedWhenItsIndexOfCompletionsLeavesItsWindow) {
  for (const std::uint32_t consumed : {1U, 0x80000000U, 0xffffffffU}) {
    const RawSession session = open();
    session.client().consumed.value.store(consumed);
    ipc::SubmissionHeader header;
    header.descriptor_offset = ipc::kInline;
    const std::uint32_t many = 3 * session.welcome.granted.completion_entries;
    while (header.sequence < many && waits_for_room(session, header.sequence)) {
      session.put(header, {});
      ++header.sequence;
    }
    EXPECT_TRUE(is_hung_up(session.socket.number())) << consumed;
  }
}

// One field of a submission at an extreme.
ipc::SubmissionHeader extreme(int field, std::uint64_t value) {
  ipc::SubmissionHeader header;
  header.operation = static_cast<std::uint16_t>(ipc::Operation::kSubmit);
  header.descriptor_offset = ipc::kInline;
  header.descriptor_bytes = 64;
  if (field == 0) header.sequence = static_cast<std::uint32_t>(value);
  if (field == 1) header.operation = static_cast<std::uint16_t>(value);
  if (field == 2) header.flags = static_cast<std::uint16_t>(value);
  if (field == 3) header.user_data = value;
  if (field == 4) header.descriptor_offset = value;
  if (field == 5) header.descriptor_bytes = static_cast<std::uint32_t>(value);
  if (field == 6) header.reserved[1] = value;
  return header;
}

TEST_F(HostileClient, IsAnsweredOrClosedForEveryFieldAtItsExtremes) {
  constexpr std::uint64_t kExtremes[] = {
      0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff, ~std::uint64_t{7}, ~std::uint64_t{0}};
  int answered = 0;
  for (int i = 0; i < 9 * 7; ++i) {
    const ipc::SubmissionHeader header = extreme(i % 7, kExtremes[i / 7]);
    // A cancellation of nothing: no answer is due.
    if (header.operation == static_cast<std::uint16_t>(ipc::Operation::kCancel)) continue;
    RawSession session = open();
    session.put(header, noise(960, static_cast<std::uint32_t>(i)));
    const auto completion = session.next();
    if (!completion) {
      EXPECT_TRUE(is_hung_up(session.socket.number())) << i;
      continue;
    }
    ++answered;
    EXPECT_THAT(static_cast<ipc::CompletionKind>(completion->kind),
                AnyOf(ipc::CompletionKind::kRefused, ipc::CompletionKind::kNothingDone));
  }
  EXPECT_GT(answered, 30);  // one bad submission is no reason to close a session
}

TEST_F(HostileClient, IsRefusedAnAmplifyingMessageAtOnce) {
  RawSession session = open();
  // A list of 2^29 - 1 structs without size, in 32 bytes.
  const ipc::Words words{0x0000000100000000, 0x00000007fffffff9 | (7ULL << 32U), 0x0000000000000001,
                         0};
  const auto bytes = ipc::bytes_of(words);
  ipc::SubmissionHeader header;
  header.operation = static_cast<std::uint16_t>(ipc::Operation::kSubmit);
  header.descriptor_offset = ipc::kInline;
  header.descriptor_bytes = static_cast<std::uint32_t>(bytes.size());
  session.put(header, {bytes.begin(), bytes.end()});

  const auto completion = session.next();

  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->kind, static_cast<std::uint16_t>(ipc::CompletionKind::kRefused));
}

TEST_F(HostileClient, CannotSubmitOneSpanManyTimes) {
  RawSession session = open();
  ipc::SubmitMessage message;
  message.prompt = ipc::TextSpans{{0, session.welcome.granted.arena_bytes}};
  ipc::Words words;
  ipc::encode(message, words);
  const auto bytes = ipc::bytes_of(words);
  int refused = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    ipc::SubmissionHeader header;
    header.sequence = i;
    header.operation = static_cast<std::uint16_t>(ipc::Operation::kSubmit);
    header.user_data = i;
    header.descriptor_offset = ipc::kInline;
    header.descriptor_bytes = static_cast<std::uint32_t>(bytes.size());
    session.put(header, {bytes.begin(), bytes.end()});
  }
  for (int i = 0; i < 20; ++i) {
    const auto completion = session.next();
    ASSERT_TRUE(completion);
    refused +=
        completion->kind == static_cast<std::uint16_t>(ipc::CompletionKind::kRefused) ? 1 : 0;
  }
  EXPECT_EQ(refused,
            20);  // the first as too long a prompt, the others for what they claim together
}

TEST_F(HostileClient, MaySaturateAndEmptyTheDoorbell) {
  RawSession session = open();
  const int doorbell = session.descriptors[2].number();
  ::fcntl(doorbell, F_SETFL, 0);  // blocking, for both: the flags are shared
  const std::uint64_t most = ~std::uint64_t{0} - 1;
  ::fcntl(doorbell, F_SETFL, O_NONBLOCK);
  static_cast<void>(!::write(doorbell, &most, sizeof most));
  ::fcntl(doorbell, F_SETFL, 0);
  ipc::SubmissionHeader header;
  header.descriptor_offset = ipc::kInline;
  session.client().published.value.store(0);
  for (int i = 0; i < 1000; ++i) {
    std::uint64_t count = 0;
    ::fcntl(doorbell, F_SETFL, O_NONBLOCK);
    static_cast<void>(!::read(doorbell, &count, sizeof count));
    ::fcntl(doorbell, F_SETFL, 0);
    const std::uint64_t one = 1;
    static_cast<void>(!::write(doorbell, &one, sizeof one));
  }
}

TEST_F(HostileClient, IsClosedWhenItAsksWithoutReadingTheAnswers) {
  const RawSession session = open();
  ipc::Words words;
  ipc::encode(ipc::ControlRequest{1, ipc::StatusQuery{}}, words);
  bool is_closed = false;
  for (int i = 0; i < 100'000 && !is_closed; ++i) {
    const auto sent = ipc::send_datagram(session.socket.number(), ipc::bytes_of(words), {});
    is_closed = !sent;
    if (!sent || *sent) continue;
    static_cast<void>(ipc::wait_writable(session.socket.number(), std::chrono::milliseconds(100)));
  }
  EXPECT_TRUE(is_closed || is_hung_up(session.socket.number()));
}

}  // namespace
}  // namespace deepinfer::e2e
