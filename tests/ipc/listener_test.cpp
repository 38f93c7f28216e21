#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/socket.h"
#include "ipc/socket_address.h"
#include "tests/ipc/descriptor_count.h"
#include "tests/ipc/socket_folder.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

// A socket that was bound without a lock, by another program.
FileDescriptor bound_to(const fs::path& path, int type) {
  FileDescriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const auto address = address_of(path);
  EXPECT_TRUE(address.has_value());
  EXPECT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)),
            0);
  return socket;
}

TEST(Listener, AcceptsWhoConnects) {
  const SocketFolder folder;
  auto listener = Listener::open(folder / "s", 0600);
  ASSERT_OK(listener);
  const auto nobody = listener->accept();
  ASSERT_OK(nobody);
  EXPECT_FALSE(nobody->has_value());

  const auto client = connect_to(folder / "s", milliseconds(1000));
  ASSERT_OK(client);
  const auto accepted = listener->accept();

  ASSERT_OK(accepted);
  ASSERT_TRUE(accepted->has_value());
  EXPECT_NE(::fcntl((*accepted)->number(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl((*accepted)->number(), F_GETFD), FD_CLOEXEC);
  const auto peer = peer_credentials((*accepted)->number());
  ASSERT_OK(peer);
  EXPECT_EQ(peer->pid, ::getpid());
}

TEST(Listener, LeavesNothingBehind) {
  const SocketFolder folder;
  {
    auto listener = Listener::open(folder / "s", 0600);
    ASSERT_OK(listener);
    Listener moved = *std::move(listener);
    EXPECT_TRUE(fs::exists(folder / "s"));
    EXPECT_TRUE(fs::exists(folder / "s.lock"));
    EXPECT_EQ(mode_of(folder / "s.lock"), 0600U);
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Listener, MakesItsFolder) {
  const SocketFolder folder;
  const Umask wide(0);
  const auto listener = Listener::open(folder / "run/s", 0660);
  ASSERT_OK(listener);
  EXPECT_EQ(mode_of(folder / "run"), 0700U);
}

TEST(Listener, DoesNotMakeManyFolders) {
  const SocketFolder folder;
  EXPECT_FAILS(Listener::open(folder / "a/b/s", 0660), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(folder / "a"));
}

TEST(Listener, HasItsModeWhateverTheUmask) {
  const SocketFolder folder;
  for (const mode_t mask : {0000U, 0077U, 0777U}) {
    for (const mode_t mode : {0600U, 0660U, 0666U}) {
      const Umask umask(mask);
      const auto listener = Listener::open(folder / "s", mode);
      ASSERT_OK(listener);
      EXPECT_EQ(mode_of(folder / "s"), mode);
    }
  }
}

TEST(Listener, IsNeverWiderThanItsModeEvenForAMoment) {
  const SocketFolder folder;
  const Umask wide(0);
  const fs::path path = folder / "s";
  std::atomic<bool> is_over = false;
  mode_t seen = 0;
  std::thread watcher([&] {
    while (!is_over.load()) seen |= mode_of(path);
  });

  for (int i = 0; i < 300; ++i) {
    const auto listener = Listener::open(path, 0640);
    EXPECT_TRUE(listener.has_value());
  }
  is_over.store(true);
  watcher.join();

  EXPECT_EQ(seen & ~mode_t{0640}, 0U);
}

TEST(Listener, IsTheOnlyOneAtItsPath) {
  const SocketFolder folder;
  const auto first = Listener::open(folder / "s", 0600);
  ASSERT_OK(first);

  EXPECT_FAILS(Listener::open(folder / "s", 0600), ErrorCode::kFailedPrecondition);

  ASSERT_OK(connect_to(folder / "s", milliseconds(1000)));
}

TEST(Listener, LeavesALivingSocketAlone) {
  const SocketFolder folder;
  for (const int type : {SOCK_SEQPACKET, SOCK_STREAM}) {
    const fs::path path = folder / std::to_string(type);
    const FileDescriptor living = bound_to(path, type);
    ASSERT_EQ(::listen(living.number(), 1), 0);

    const auto second = Listener::open(path, 0600);

    ASSERT_FALSE(second.has_value());
    EXPECT_TRUE(fs::is_socket(path));
    EXPECT_FALSE(fs::exists(path.string() + ".lock"));
  }
}

TEST(Listener, ReplacesAnAbandonedSocket) {
  const SocketFolder folder;
  static_cast<void>(bound_to(folder / "s", SOCK_SEQPACKET));
  ASSERT_TRUE(fs::is_socket(folder / "s"));

  auto listener = Listener::open(folder / "s", 0600);

  ASSERT_OK(listener);
  ASSERT_OK(connect_to(folder / "s", milliseconds(1000)));
}

TEST(Listener, FollowsOneThatWasKilled) {
  const SocketFolder folder;
  for (int round = 0; round < 5; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto listener = Listener::open(folder / "s", 0600);
      if (!listener) ::_exit(1);
      ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_TRUE(fs::is_socket(folder / "s"));
  }

  ASSERT_OK(Listener::open(folder / "s", 0600));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Listener, NeverRemovesWhatIsNoSocket) {
  const SocketFolder folder;
  std::ofstream(folder / "file") << "precious";
  fs::create_directory(folder / "folder");
  fs::create_symlink(folder / "file", folder / "link");

  for (const char* name : {"file", "folder", "link"}) {
    const auto refused = Listener::open(folder / name, 0600);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().message,
              (folder / name).string() + " is there and is not a socket: it is left as it is");
    EXPECT_FALSE(fs::exists((folder / name).string() + ".lock"));
  }
  EXPECT_EQ(fs::file_size(folder / "file"), 8U);
}

TEST(Listener, DoesNotRemoveWhatHasTakenItsPlace) {
  const SocketFolder folder;
  {
    const auto listener = Listener::open(folder / "s", 0600);
    ASSERT_OK(listener);
    fs::remove(folder / "s");
    std::ofstream(folder / "s") << "precious";
  }
  EXPECT_TRUE(fs::exists(folder / "s"));
}

TEST(Listener, DoesNotRemoveItsSuccessorsSocket) {
  const SocketFolder folder;
  auto first = Listener::open(folder / "s", 0600);
  ASSERT_OK(first);
  // somebody clears the folder, and another daemon starts
  fs::remove(folder / "s");
  fs::remove(folder / "s.lock");
  const auto second = Listener::open(folder / "s", 0600);
  ASSERT_OK(second);

  { const Listener gone = *std::move(first); }

  ASSERT_OK(connect_to(folder / "s", milliseconds(1000)));
}

TEST(Listener, DoesNotFollowALinkInPlaceOfItsLock) {
  const SocketFolder folder;
  fs::create_symlink(folder / "target", folder / "s.lock");

  EXPECT_FAILS(Listener::open(folder / "s", 0600), ErrorCode::kInvalidArgument);

  EXPECT_FALSE(fs::exists(folder / "target"));
}

TEST(Listener, TakesTheLongestPathAndRefusesALongerOne) {
  const SocketFolder folder;
  const std::size_t room = kMostPathBytes - folder.path().native().size() - 1;

  const auto listener = Listener::open(folder / std::string(room, 's'), 0600);

  ASSERT_OK(listener);
  ASSERT_OK(connect_to(folder / std::string(room, 's'), milliseconds(1000)));
  EXPECT_FAILS(Listener::open(folder / std::string(room + 1, 's'), 0600),
               ErrorCode::kInvalidArgument);
}

TEST(Listener, SaysWhenDescriptorsHaveRunOut) {
  const SocketFolder folder;
  auto listener = Listener::open(folder / "s", 0600);
  ASSERT_OK(listener);
  const auto client = connect_to(folder / "s", milliseconds(1000));
  ASSERT_OK(client);
  {
    const NoMoreDescriptors limit;
    EXPECT_FAILS(listener->accept(), ErrorCode::kResourceExhausted);
    EXPECT_FAILS(Listener::open(folder / "t", 0600), ErrorCode::kResourceExhausted);
  }
  // the connection still waits
  const auto accepted = listener->accept();
  ASSERT_OK(accepted);
  EXPECT_TRUE(accepted->has_value());
}

TEST(Listener, AcceptsOneWhoHasLeftAlready) {
  const SocketFolder folder;
  auto listener = Listener::open(folder / "s", 0600);
  ASSERT_OK(listener);
  ASSERT_OK(connect_to(folder / "s", milliseconds(1000)));

  const auto accepted = listener->accept();

  ASSERT_OK(accepted);
  ASSERT_TRUE(accepted->has_value());
  EXPECT_FAILS(receive_datagram((*accepted)->number(), 100, 0), ErrorCode::kCancelled);
}

// ---- sockets of the service manager ----

TEST(AdoptedListener, AcceptsAndLeavesTheFile) {
  const SocketFolder folder;
  {
    FileDescriptor socket = bound_to(folder / "s", SOCK_SEQPACKET);
    ASSERT_EQ(::listen(socket.number(), 8), 0);
    auto listener = Listener::adopt(std::move(socket));
    ASSERT_OK(listener);
    EXPECT_EQ(::fcntl(listener->number(), F_GETFD), FD_CLOEXEC);
    const auto nobody = listener->accept();  // it does not block
    ASSERT_OK(nobody);
    EXPECT_FALSE(nobody->has_value());
    ASSERT_OK(connect_to(folder / "s", milliseconds(1000)));
    const auto accepted = listener->accept();
    ASSERT_OK(accepted);
    EXPECT_TRUE(accepted->has_value());
  }
  EXPECT_TRUE(fs::is_socket(folder / "s"));
}

TEST(AdoptedListener, IsRefusedWhenItIsOfAnotherKind) {
  const SocketFolder folder;
  FileDescriptor stream = bound_to(folder / "stream", SOCK_STREAM);
  ASSERT_EQ(::listen(stream.number(), 8), 0);
  EXPECT_FAILS(Listener::adopt(std::move(stream)), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(Listener::adopt(bound_to(folder / "quiet", SOCK_SEQPACKET)),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(Listener::adopt(FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC))),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(Listener::adopt(FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(Listener::adopt(FileDescriptor()), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::ipc
