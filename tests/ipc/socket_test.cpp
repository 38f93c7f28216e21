#include "ipc/socket.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/socket_address.h"
#include "tests/ipc/descriptor_count.h"
#include "tests/ipc/socket_folder.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

using std::chrono::milliseconds;

struct Pair {
  FileDescriptor left;
  FileDescriptor right;
};

Pair connected() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

// ---- datagrams ----

TEST(Datagram, ArrivesWithItsDescriptors) {
  const Pair pair = connected();
  const FileDescriptor event(::eventfd(41, 0));
  const auto bytes = some_bytes(1000);
  const std::array<int, 2> sent{event.number(), event.number()};

  ASSERT_OK(send_datagram(pair.left.number(), bytes, sent));
  const auto received = receive_datagram(pair.right.number(), 1000, 2);

  ASSERT_OK(received);
  ASSERT_TRUE(received->has_value());
  EXPECT_EQ((*received)->bytes, bytes);
  ASSERT_EQ((*received)->descriptors.size(), 2U);
  std::uint64_t value = 0;
  const int copy = (*received)->descriptors[1].number();
  EXPECT_EQ(::read(copy, &value, sizeof(value)), 8);
  EXPECT_EQ(value, 41U);
  EXPECT_EQ(::fcntl(copy, F_GETFD), FD_CLOEXEC);
}

TEST(Datagram, OneIsOneMessage) {
  const Pair pair = connected();
  ASSERT_OK(send_datagram(pair.left.number(), some_bytes(3), {}));
  ASSERT_OK(send_datagram(pair.left.number(), some_bytes(5), {}));

  const auto first = receive_datagram(pair.right.number(), 100, 0);
  const auto second = receive_datagram(pair.right.number(), 100, 0);

  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ((*first)->bytes.size(), 3U);
  EXPECT_EQ((*second)->bytes.size(), 5U);
}

TEST(Datagram, IsNothingYetWhenNoneHasCome) {
  const Pair pair = connected();

  const auto received = receive_datagram(pair.right.number(), 100, 0);

  ASSERT_OK(received);
  EXPECT_FALSE(received->has_value());
}

TEST(Datagram, OfAClosedPeerIsCancelled) {
  Pair pair = connected();
  pair.left = FileDescriptor();

  EXPECT_FAILS(receive_datagram(pair.right.number(), 100, 0), ErrorCode::kCancelled);
  // and no SIGPIPE ends this process
  EXPECT_FAILS(send_datagram(pair.right.number(), some_bytes(8), {}), ErrorCode::kCancelled);
}

TEST(Datagram, ThatAClosedPeerHasSentStillArrives) {
  Pair pair = connected();
  ASSERT_OK(send_datagram(pair.left.number(), some_bytes(8), {}));
  pair.left = FileDescriptor();

  const auto received = receive_datagram(pair.right.number(), 100, 0);

  ASSERT_OK(received);
  EXPECT_TRUE(received->has_value());
}

TEST(Datagram, ThatIsTooLongIsDataLossAndItsDescriptorsAreClosed) {
  const Pair pair = connected();
  const std::array<int, 1> sent{STDIN_FILENO};
  const auto before = open_descriptors();
  ASSERT_OK(send_datagram(pair.left.number(), some_bytes(101), sent));

  EXPECT_FAILS(receive_datagram(pair.right.number(), 100, 1), ErrorCode::kDataLoss);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Datagram, WithUnexpectedDescriptorsIsDataLossAndAllAreClosed) {
  const Pair pair = connected();
  const auto before = open_descriptors();
  for (const std::size_t count : {1U, 4U, 8U, 253U}) {
    const std::vector<int> sent(count, STDIN_FILENO);
    ASSERT_OK(send_datagram(pair.left.number(), some_bytes(8), sent));

    EXPECT_FAILS(receive_datagram(pair.right.number(), 100, count == 1 ? 0 : 3),
                 ErrorCode::kDataLoss);
    EXPECT_EQ(open_descriptors(), before);
  }
}

TEST(Datagram, WhoseDescriptorsCannotBeTakenIsDataLoss) {
  const Pair pair = connected();
  const std::array<int, 3> sent{0, 0, 0};
  ASSERT_OK(send_datagram(pair.left.number(), some_bytes(8), sent));
  const auto before = open_descriptors();
  {
    const NoMoreDescriptors limit;
    EXPECT_FAILS(receive_datagram(pair.right.number(), 100, 3), ErrorCode::kDataLoss);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Datagram, DoesNotGoOutWhenTheBufferIsFull) {
  const Pair pair = connected();
  const auto bytes = some_bytes(1000);
  int sent = 0;
  while (true) {
    const auto is_out = send_datagram(pair.left.number(), bytes, {});
    ASSERT_OK(is_out);
    if (!*is_out) break;
    ASSERT_LT(++sent, 1'000'000);
  }
  EXPECT_FALSE(wait_writable(pair.left.number(), milliseconds(0)));

  for (int i = 0; i < sent; ++i) ASSERT_OK(receive_datagram(pair.right.number(), 1000, 0));

  EXPECT_TRUE(wait_writable(pair.left.number(), milliseconds(1000)));
  const auto is_out = send_datagram(pair.left.number(), bytes, {});
  ASSERT_OK(is_out);
  EXPECT_TRUE(*is_out);
}

TEST(Datagram, ThatCannotBeSentSaysWhy) {
  const Pair pair = connected();
  const std::array<int, 1> closed{9999};
  const std::vector<int> many(254, STDIN_FILENO);

  EXPECT_FAILS(send_datagram(pair.left.number(), {}, {}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(send_datagram(pair.left.number(), some_bytes(8), closed),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(send_datagram(pair.left.number(), some_bytes(8), many), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(send_datagram(pair.left.number(), some_bytes(64U << 20U), {}),
               ErrorCode::kInvalidArgument);
}

// ---- waiting and the peer ----

TEST(Waiting, EndsWhenSomethingComesAndWhenThePeerCloses) {
  Pair pair = connected();
  EXPECT_FALSE(wait_readable(pair.right.number(), milliseconds(0)));
  EXPECT_FALSE(wait_readable(pair.right.number(), milliseconds(2)));
  EXPECT_FALSE(wait_readable(pair.right.number(), milliseconds(-5)));

  ASSERT_OK(send_datagram(pair.left.number(), some_bytes(8), {}));
  EXPECT_TRUE(wait_readable(pair.right.number(), milliseconds(1000)));
  ASSERT_OK(receive_datagram(pair.right.number(), 8, 0));
  EXPECT_FALSE(wait_readable(pair.right.number(), milliseconds(0)));

  pair.left = FileDescriptor();
  EXPECT_TRUE(wait_readable(pair.right.number(), milliseconds(1000)));
  EXPECT_TRUE(wait_readable(pair.right.number(), std::chrono::hours(1'000'000)));
}

TEST(Peer, IsWhoItIs) {
  const Pair pair = connected();

  const auto peer = peer_credentials(pair.left.number());

  ASSERT_OK(peer);
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gid, ::getegid());
  EXPECT_FAILS(peer_credentials(-1), ErrorCode::kInvalidArgument);
}

// ---- connecting ----

TEST(Connecting, WithoutAListenerIsAFailedPrecondition) {
  const SocketFolder folder;
  EXPECT_FAILS(connect_to(folder / "nobody", milliseconds(10)), ErrorCode::kFailedPrecondition);
  {
    const FileDescriptor bound(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto address = address_of(folder / "abandoned");
    ASSERT_OK(address);
    ASSERT_EQ(
        ::bind(bound.number(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)), 0);
  }
  EXPECT_FAILS(connect_to(folder / "abandoned", milliseconds(10)), ErrorCode::kFailedPrecondition);
}

TEST(Connecting, GivesASocketThatNeverBlocksAndIsNotInherited) {
  const SocketFolder folder;
  const auto listener = Listener::open(folder / "s", 0600);
  ASSERT_OK(listener);

  const auto socket = connect_to(folder / "s", milliseconds(1000));

  ASSERT_OK(socket);
  EXPECT_NE(::fcntl(socket->number(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(socket->number(), F_GETFD), FD_CLOEXEC);
}

TEST(Connecting, ToWhatIsNoSocketIsAnInvalidArgument) {
  const SocketFolder folder;
  FileDescriptor file(::open((folder / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));

  const auto to_file = connect_to(folder / "file", milliseconds(10));

  ASSERT_FALSE(to_file.has_value());
  EXPECT_EQ(to_file.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(to_file.error().message, (folder / "file").string() + " is not a socket");
  EXPECT_FAILS(connect_to(folder / "file/s", milliseconds(10)), ErrorCode::kInvalidArgument);
}

TEST(Connecting, ToAStreamSocketIsAnInvalidArgument) {
  const SocketFolder folder;
  const FileDescriptor bound(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = address_of(folder / "stream");
  ASSERT_OK(address);
  ASSERT_EQ(::bind(bound.number(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)),
            0);
  ASSERT_EQ(::listen(bound.number(), 1), 0);

  EXPECT_FAILS(connect_to(folder / "stream", milliseconds(10)), ErrorCode::kInvalidArgument);
}

TEST(Connecting, WaitsForAFullQueueOnlyAsLongAsAllowed) {
  const SocketFolder folder;
  const FileDescriptor bound(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto address = address_of(folder / "full");
  ASSERT_OK(address);
  ASSERT_EQ(::bind(bound.number(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)),
            0);
  ASSERT_EQ(::listen(bound.number(), 0), 0);
  const auto first = connect_to(folder / "full", milliseconds(1000));
  ASSERT_OK(first);

  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FAILS(connect_to(folder / "full", milliseconds(20)), ErrorCode::kDeadlineExceeded);
  EXPECT_FAILS(connect_to(folder / "full", milliseconds(0)), ErrorCode::kDeadlineExceeded);

  const auto waited = std::chrono::steady_clock::now() - begun;
  EXPECT_GE(waited, milliseconds(20));
  EXPECT_LT(waited, std::chrono::seconds(20));
}

// The code of connecting as a user who owns nothing here.
int connect_as_nobody(const std::filesystem::path& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(99);
    const auto socket = connect_to(path, milliseconds(100));
    const bool says_so = !socket && socket.error().message.find("permission") != std::string::npos;
    ::_exit(socket ? 0 : says_so ? static_cast<int>(socket.error().code) : 98);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Connecting, WithoutPermissionIsAnInvalidArgument) {
  const SocketFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  // With no bits at all even its owner may not; root is turned into somebody else.
  const auto listener = Listener::open(folder / "s", ::geteuid() == 0 ? 0600 : 0);
  ASSERT_OK(listener);

  EXPECT_EQ(connect_as_nobody(folder / "s"), static_cast<int>(ErrorCode::kInvalidArgument));
}

TEST(Connecting, WithoutDescriptorsIsResourceExhausted) {
  const NoMoreDescriptors limit;
  EXPECT_FAILS(connect_to("/tmp/none", milliseconds(10)), ErrorCode::kResourceExhausted);
}

// ---- paths ----

TEST(SocketPath, EndsAtOneHundredAndSevenBytes) {
  const std::string longest = "/" + std::string(106, 'p');

  ASSERT_OK(address_of(longest));
  const auto longer = address_of(longest + "q");

  ASSERT_FALSE(longer.has_value());
  EXPECT_EQ(longer.error().message,
            "the socket's path " + longest + "q has 108 bytes, at most 107 are possible");
  EXPECT_FAILS(address_of(""), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(address_of(std::string("/a\0b", 4)), ErrorCode::kInvalidArgument);
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): this test has one thread
    const char* before = ::getenv(name);
    if (before != nullptr) before_ = before;
    set(value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): this test has one thread
    value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1);
  }
  const char* name_;
  std::optional<std::string> before_;
};

TEST(SocketPath, OfAUserLiesInTheRuntimeFolderOrInTmp) {
  {
    const Environment runtime("XDG_RUNTIME_DIR", "/run/user/7");
    EXPECT_EQ(user_socket_path(), "/run/user/7/deepinfer/deepinferd.sock");
  }
  const std::string in_tmp = "/tmp/deepinfer-" + std::to_string(::geteuid()) + "/deepinferd.sock";
  for (const char* value : {static_cast<const char*>(nullptr), "", "relative/folder"}) {
    const Environment runtime("XDG_RUNTIME_DIR", value);
    EXPECT_EQ(user_socket_path(), in_tmp);
  }
  EXPECT_EQ(system_socket_path(), "/run/deepinfer/deepinferd.sock");
}

TEST(SocketPath, OfAClientIsTheOneThatIsNamed) {
  const Environment named("DEEPINFER_IPC__SOCKET", "/somewhere/s");
  EXPECT_EQ(client_socket_path(), "/somewhere/s");
}

TEST(SocketPath, OfAClientIsTheSystemsForRootOrWhereItExists) {
  const Environment named("DEEPINFER_IPC__SOCKET", nullptr);
  const bool is_systems = ::geteuid() == 0 || std::filesystem::exists(system_socket_path());
  EXPECT_EQ(client_socket_path(), is_systems ? system_socket_path() : user_socket_path());
}

TEST(SocketPath, InAFolderOfOthersIsRefused) {
  const SocketFolder folder;
  ASSERT_OK(check_private(folder.path()));
  ASSERT_OK(check_private(folder / "absent"));

  ASSERT_EQ(::chmod(folder.path().c_str(), 0710), 0);
  const auto open = check_private(folder.path());
  ASSERT_FALSE(open.has_value());
  EXPECT_EQ(open.error().message, folder.path().string() + " has mode 0710, allowed is 0700");

  std::filesystem::create_symlink(folder.path(), folder / "link");
  EXPECT_FAILS(check_private(folder / "link"), ErrorCode::kInvalidArgument);
  // one of somebody else: of root, or of nobody when this is root
  if (::geteuid() == 0) {
    ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
    ASSERT_EQ(::chown(folder.path().c_str(), 65534, 65534), 0);
    EXPECT_FAILS(check_private(folder.path()), ErrorCode::kInvalidArgument);
  } else {
    EXPECT_FAILS(check_private("/"), ErrorCode::kInvalidArgument);
  }
}

TEST(SocketPath, OnlyTheUsersFolderInTmpIsAskedForItsOwner) {
  ASSERT_OK(check_folder("/tmp/s"));
  ASSERT_OK(check_folder("/usr/s"));
}

}  // namespace
}  // namespace deepinfer::ipc
