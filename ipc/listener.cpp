#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/socket.h"
#include "ipc/socket_address.h"

namespace deepinfer::ipc {
namespace {

constexpr mode_t kLockMode = 0600;
// Each turn loses a race against a listener that has just removed its lock.
constexpr int kLockTurns = 100;

std::filesystem::path lock_path_of(const std::filesystem::path& path) {
  std::filesystem::path lock = path;
  lock += ".lock";
  return lock;
}

// `error` is errno's; no permission and a wrong path are the caller's, the rest is the machine's.
Error cannot(const std::string& what, int error) {
  const bool is_exhausted = error == EMFILE || error == ENFILE || error == ENOMEM ||
                            error == ENOBUFS || error == ENOSPC || error == EDQUOT;
  return fail(is_exhausted ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument,
              "cannot " + what + ": " + std::generic_category().message(error));
}

// Makes the last folder of the path when it is missing: of the system's socket for its group to enter.
Status make_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  if (folder.empty()) return Done{};
  if (::mkdir(folder.c_str(), 0700) != 0) {
    if (errno == EEXIST) return Done{};
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) == 0) return Done{};
    return cannot("make the socket's folder " + folder.string(), errno);
  }
  if (path != system_socket_path()) return Done{};
  if (::chmod(folder.c_str(), 0750) != 0) {
    return cannot("set the mode of " + folder.string(), errno);
  }
  return Done{};
}

// Whether `path` still names the open file: its last holder may have removed it.
bool is_at(int number, const std::filesystem::path& path) {
  struct stat open_file {};
  struct stat named_file {};
  return ::fstat(number, &open_file) == 0 && ::lstat(path.c_str(), &named_file) == 0 &&
         open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

Result<FileDescriptor> take_lock(const std::filesystem::path& path) {
  const std::filesystem::path lock_path = lock_path_of(path);
  for (int turn = 0; turn < kLockTurns; ++turn) {
    FileDescriptor lock(::open(lock_path.c_str(),
                               O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kLockMode));
    if (!lock.is_open()) return cannot("open the lock " + lock_path.string(), errno);
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return cannot("lock " + lock_path.string(), errno);
      return fail(ErrorCode::kFailedPrecondition,
                  "another daemon serves " + path.string() + ": it holds " + lock_path.string());
    }
    if (is_at(lock.number(), lock_path)) return lock;
  }
  return fail(ErrorCode::kFailedPrecondition,
              "the lock " + lock_path.string() + " is removed again and again");
}

// Removes a socket that nobody serves any more; nothing else is ever removed.
Status remove_abandoned(const std::filesystem::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return Done{};
    return cannot("look at " + path.string(), errno);
  }
  if (!S_ISSOCK(facts.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                path.string() + " is there and is not a socket: it is left as it is");
  }
  const auto living = connect_to(path, std::chrono::milliseconds{0});
  // A full queue has somebody behind it, too.
  if (living || living.error().code == ErrorCode::kDeadlineExceeded) {
    return fail(ErrorCode::kFailedPrecondition, "another program serves " + path.string());
  }
  if (living.error().code != ErrorCode::kFailedPrecondition) return living.error();
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return cannot("remove the abandoned socket " + path.string(), errno);
  }
  return Done{};
}

Result<FileDescriptor> bind_and_listen(const std::filesystem::path& path,
                                       const sockaddr_un& address, mode_t mode) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return cannot("make a socket", errno);
  // bind() gives the file the mode of the socket, less the umask: it is never wider than this, even for
  // a moment, and the umask, which belongs to all threads, stays as it is.
  if (::fchmod(socket.number(), mode) != 0) return cannot("set a socket's mode", errno);
  if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return cannot("bind a socket to " + path.string(), errno);
  }
  // What the umask has taken away.
  if (::chmod(path.c_str(), mode) != 0 || ::listen(socket.number(), SOMAXCONN) != 0) {
    const Error error = cannot("listen at " + path.string(), errno);
    ::unlink(path.c_str());
    return error;
  }
  return socket;
}

Result<FileDescriptor> replace_abandoned(const std::filesystem::path& path,
                                         const sockaddr_un& address, mode_t mode) {
  const Status is_free = remove_abandoned(path);
  if (!is_free) return is_free.error();
  return bind_and_listen(path, address, mode);
}

Result<int> option_of(int socket, int option) {
  int value = 0;
  socklen_t length = sizeof(value);
  if (::getsockopt(socket, SOL_SOCKET, option, &value, &length) != 0) {
    return fail(ErrorCode::kInvalidArgument, "descriptor " + std::to_string(socket) +
                                                 " is not a socket: " + last_system_error());
  }
  return value;
}

Status check_listening(int socket) {
  DEEPINFER_TRY(const int domain, option_of(socket, SO_DOMAIN));
  DEEPINFER_TRY(const int type, option_of(socket, SO_TYPE));
  DEEPINFER_TRY(const int is_listening, option_of(socket, SO_ACCEPTCONN));
  if (domain == AF_UNIX && type == SOCK_SEQPACKET && is_listening != 0) return Done{};
  return fail(ErrorCode::kInvalidArgument,
              "descriptor " + std::to_string(socket) +
                  " is not a UNIX socket that listens for sequenced packets");
}

}  // namespace

Listener::Listener(FileDescriptor socket, FileDescriptor lock, std::filesystem::path path)
    : socket_(std::move(socket)), lock_(std::move(lock)), path_(std::move(path)) {}

Listener::Listener(Listener&& other) noexcept
    : socket_(std::move(other.socket_)),
      lock_(std::move(other.lock_)),
      path_(std::exchange(other.path_, {})) {}

Listener& Listener::operator=(Listener&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(lock_, other.lock_);
  std::swap(path_, other.path_);
  return *this;
}

Listener::~Listener() {
  if (path_.empty()) return;
  // Where the lock is gone, somebody has cleared the folder, and another daemon may serve there now.
  const std::filesystem::path lock_path = lock_path_of(path_);
  if (!is_at(lock_.number(), lock_path)) return;
  struct stat facts {};
  if (::lstat(path_.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode)) ::unlink(path_.c_str());
  ::unlink(lock_path.c_str());
}

Result<Listener> Listener::open(const std::filesystem::path& path, mode_t mode) {
  DEEPINFER_TRY(const sockaddr_un address, address_of(path));
  const Status has_folder = make_folder(path);
  if (!has_folder) return has_folder.error();
  const Status is_private = check_folder(path);
  if (!is_private) return is_private.error();
  DEEPINFER_TRY(FileDescriptor lock, take_lock(path));
  auto socket = replace_abandoned(path, address, mode);
  if (!socket) {
    ::unlink(lock_path_of(path).c_str());  // still held: it is this process' own
    return std::move(socket).error();
  }
  return Listener(*std::move(socket), std::move(lock), path);
}

Result<Listener> Listener::adopt(FileDescriptor socket) {
  const Status is_right = check_listening(socket.number());
  if (!is_right) return is_right.error();
  const int flags = ::fcntl(socket.number(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.number(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(socket.number(), F_SETFD, FD_CLOEXEC) != 0) {
    return cannot("prepare the inherited socket", errno);
  }
  return Listener(std::move(socket), {}, {});
}

Result<std::optional<FileDescriptor>> Listener::accept() {
  while (true) {
    FileDescriptor accepted(
        ::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted.is_open()) return std::optional<FileDescriptor>(std::move(accepted));
    if (errno == EAGAIN) return std::optional<FileDescriptor>();
    // The next one may be fine: this one was interrupted, or its client has left.
    if (errno != EINTR && errno != ECONNABORTED) return cannot("accept a connection", errno);
  }
}

}  // namespace deepinfer::ipc
