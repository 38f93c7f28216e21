// The notify protocol against a socket of the test's own, and the taking over of passed descriptors.
#include "daemon/notify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/client/temporary_folder.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::daemon {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string own_process() { return std::to_string(::getpid()); }

// The manager's end: what was sent to it, one string for each message.
class FakeManager {
 public:
  // `name` as in NOTIFY_SOCKET.
  explicit FakeManager(std::string name)
      : name_(std::move(name)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(static_cast<char*>(address.sun_path), name_.data(), name_.size());
    if (name_.front() == '@') address.sun_path[0] = '\0';
    const std::size_t size = offsetof(sockaddr_un, sun_path) + name_.size();
    EXPECT_EQ(::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(size)),
              0);
  }

  [[nodiscard]] config::Variables environment() const { return {{"NOTIFY_SOCKET", name_}}; }
  // Sent already: a message lies in the socket when sendto() has returned.
  [[nodiscard]] std::vector<std::string> messages() const {
    std::vector<std::string> messages;
    std::array<char, 8192> buffer{};
    for (;;) {
      const ssize_t size = ::recv(socket_.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (size < 0) return messages;
      messages.emplace_back(buffer.data(), static_cast<std::size_t>(size));
    }
  }

 private:
  std::string name_;
  FileDescriptor socket_;
};

class NotifyTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  FakeManager manager_{(folder_ / "notify.sock").string()};
};

TEST_F(NotifyTest, SpeaksTheProtocol) {
  Notifier notifier(manager_.environment());

  notifier.extend_timeout(std::chrono::seconds(30));
  notifier.status("loading nano");
  notifier.ready();
  notifier.watchdog();
  notifier.reloading(microseconds(1'234'567));
  notifier.stopping();

  EXPECT_THAT(manager_.messages(),
              ElementsAre("EXTEND_TIMEOUT_USEC=30000000", "STATUS=loading nano", "READY=1",
                          "WATCHDOG=1", "RELOADING=1\nMONOTONIC_USEC=1234567", "STOPPING=1"));
  EXPECT_THAT(notifier.trouble(), IsEmpty());
}

TEST_F(NotifyTest, SaysOneThingWhateverTheStatusContains) {
  Notifier notifier(manager_.environment());

  notifier.status("draining\nREADY=1\r\x01!");

  EXPECT_THAT(manager_.messages(), ElementsAre("STATUS=draining READY=1  !"));
}

TEST_F(NotifyTest, KeepsALongStatusBelowWhatTheManagerTakes) {
  Notifier notifier(manager_.environment());
  std::string text;
  while (text.size() < 5000) text += "\xE2\x82\xAC";  // three bytes each: 1024 is in one's middle

  notifier.status(text);

  EXPECT_THAT(manager_.messages(), ElementsAre("STATUS=" + text.substr(0, 1023)));
}

TEST(Notify, FindsAnAbstractSocket) {
  const FakeManager manager("@deepinfer-notify-test-" + own_process());
  Notifier notifier(manager.environment());

  notifier.ready();

  EXPECT_THAT(manager.messages(), ElementsAre("READY=1"));
}

TEST(Notify, DoesNothingWithoutAManager) {
  for (const config::Variables& environment :
       {config::Variables{}, config::Variables{{"NOTIFY_SOCKET", ""}, {"WATCHDOG_USEC", "1"}}}) {
    Notifier notifier(environment);
    notifier.ready();
    EXPECT_FALSE(notifier.is_active());
    EXPECT_THAT(notifier.trouble(), IsEmpty());
    EXPECT_EQ(notifier.watchdog_interval(), std::nullopt);
  }
}

TEST(Notify, GoesOnWhenTheManagerIsGone) {
  const TemporaryFolder folder;
  const std::string name = folder / "notify.sock";
  Notifier notifier({{"NOTIFY_SOCKET", name}});

  notifier.ready();
  EXPECT_THAT(notifier.trouble(), HasSubstr("No such file"));

  const FakeManager manager(name);
  notifier.ready();
  EXPECT_THAT(notifier.trouble(), IsEmpty());
  EXPECT_THAT(manager.messages(), SizeIs(1));
}

TEST(Notify, SaysWhyItCannotUseAnAddress) {
  const std::string longest(107, 'x');
  for (const std::string& name :
       {std::string("vsock:2:1"), std::string("relative"), "/" + longest, "@" + longest}) {
    Notifier notifier({{"NOTIFY_SOCKET", name}});
    notifier.ready();
    EXPECT_FALSE(notifier.is_active());
    EXPECT_THAT(notifier.trouble(), HasSubstr("NOTIFY_SOCKET"));
  }
}

TEST_F(NotifyTest, DoesNotWaitForEverForAManagerThatDoesNotRead) {
  Notifier notifier(manager_.environment());
  while (notifier.trouble().empty()) notifier.watchdog();
  EXPECT_THAT(notifier.trouble(), HasSubstr("cannot tell the service manager"));
}

TEST_F(NotifyTest, ReadsHowOftenTheManagerWantsToHearFromIt) {
  const auto interval = [this](config::Variables more) {
    more.emplace_back("NOTIFY_SOCKET", manager_.environment().front().second);
    return Notifier(more).watchdog_interval();
  };

  EXPECT_EQ(interval({{"WATCHDOG_USEC", "30000000"}}), microseconds(30'000'000));
  EXPECT_EQ(interval({{"WATCHDOG_USEC", "5"}, {"WATCHDOG_PID", own_process()}}), microseconds(5));
  EXPECT_EQ(interval({{"WATCHDOG_USEC", "5"}, {"WATCHDOG_PID", "1"}}), std::nullopt);
  EXPECT_EQ(interval({{"WATCHDOG_USEC", "0"}}), std::nullopt);
  EXPECT_EQ(interval({{"WATCHDOG_USEC", "soon"}}), std::nullopt);
  EXPECT_EQ(interval({}), std::nullopt);
}

// Descriptors that lie in a row, far above those of the test program itself.
class ActivationTest : public ::testing::Test {
 protected:
  static constexpr int kFirst = 200;

  void SetUp() override {
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    for (const int number : {kFirst, kFirst + 1}) {
      ASSERT_EQ(::dup2(socket.number(), number), number);
    }
  }
  void TearDown() override {
    ::close(kFirst);
    ::close(kFirst + 1);
  }
  static bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }
};

TEST_F(ActivationTest, TakesWhatIsMeantForThisProcess) {
  {
    const auto sockets = take_activation_sockets(
        {{"LISTEN_PID", own_process()}, {"LISTEN_FDS", "2"}, {"LISTEN_FDNAMES", "deepinferd:"}},
        kFirst);

    ASSERT_OK(sockets);
    ASSERT_THAT(*sockets, SizeIs(2));
    EXPECT_EQ((*sockets)[0].socket.number(), kFirst);
    EXPECT_EQ((*sockets)[0].name, "deepinferd");
    EXPECT_EQ((*sockets)[1].socket.number(), kFirst + 1);
    EXPECT_EQ((*sockets)[1].name, "unknown");
    EXPECT_EQ(::fcntl(kFirst, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  }
  EXPECT_FALSE(is_open(kFirst)) << "it is closed with its owner";
}

TEST_F(ActivationTest, LeavesAloneWhatIsMeantForAnother) {
  for (const config::Variables& environment :
       {config::Variables{}, config::Variables{{"LISTEN_FDS", "2"}},
        config::Variables{{"LISTEN_PID", "1"}, {"LISTEN_FDS", "2"}},
        config::Variables{{"LISTEN_PID", own_process()}, {"LISTEN_FDS", "0"}}}) {
    const auto sockets = take_activation_sockets(environment, kFirst);
    ASSERT_OK(sockets);
    EXPECT_THAT(*sockets, IsEmpty());
  }
  EXPECT_TRUE(is_open(kFirst));
}

TEST_F(ActivationTest, RefusesWhatMakesNoSense) {
  for (const char* count : {"-1", "two", "", "99999999999", "2147483647"}) {
    EXPECT_FAILS(
        take_activation_sockets({{"LISTEN_PID", own_process()}, {"LISTEN_FDS", count}}, kFirst),
        ErrorCode::kInvalidArgument);
  }
  EXPECT_FAILS(take_activation_sockets({{"LISTEN_PID", "me"}, {"LISTEN_FDS", "1"}}, kFirst),
               ErrorCode::kInvalidArgument);
}

TEST_F(ActivationTest, NamesTheDescriptorThatIsNotOpen) {
  const auto sockets =
      take_activation_sockets({{"LISTEN_PID", own_process()}, {"LISTEN_FDS", "3"}}, kFirst);
  ASSERT_FALSE(sockets.has_value());
  EXPECT_THAT(sockets.error().message, HasSubstr("descriptor 202 is not open"));
}

}  // namespace
}  // namespace deepinfer::daemon
