#include "ipc/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "ipc/socket_address.h"

namespace deepinfer::ipc {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// The most that the kernel passes with one message: with room for all of them none is hidden from us.
constexpr std::size_t kMostPassed = 253;
constexpr std::size_t kControlBytes = CMSG_SPACE(kMostPassed * sizeof(int));

struct alignas(cmsghdr) ControlBuffer {
  std::array<std::byte, kControlBytes> bytes;
};

std::string words_of(int error) { return std::generic_category().message(error); }

milliseconds time_left(SteadyClock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - SteadyClock::now());
  return std::max(left, milliseconds{0});
}

// A deadline that cannot overflow; a day is for ever here.
SteadyClock::time_point deadline_after(milliseconds timeout) {
  return SteadyClock::now() +
         std::clamp<milliseconds>(timeout, milliseconds{0}, std::chrono::hours(24));
}

bool wait_for(int socket, short events, milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  while (true) {
    pollfd entry{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(time_left(deadline).count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Error cannot_connect(const std::filesystem::path& path, int error) {
  const std::string& where = path.native();
  switch (error) {
    case ENOENT:
      return fail(ErrorCode::kFailedPrecondition, "there is no socket " + where);
    case ECONNREFUSED: {
      struct stat facts {};
      if (::stat(path.c_str(), &facts) == 0 && !S_ISSOCK(facts.st_mode)) {
        return fail(ErrorCode::kInvalidArgument, where + " is not a socket");
      }
      return fail(ErrorCode::kFailedPrecondition, "nobody listens at " + where);
    }
    case EACCES:
    case EPERM:
      return fail(ErrorCode::kInvalidArgument, "no permission to use the socket " + where);
    case EAGAIN:
      return fail(ErrorCode::kDeadlineExceeded, "no connection was accepted in time at " + where);
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return fail(ErrorCode::kResourceExhausted,
                  "cannot connect to " + where + ": " + words_of(error));
    case EPROTOTYPE:
      return fail(ErrorCode::kInvalidArgument, "the socket " + where + " is of another kind");
    default:
      return fail(ErrorCode::kInvalidArgument,
                  "cannot connect to " + where + ": " + words_of(error));
  }
}

// Waits in the kernel for room in the listener's queue: there is nothing to poll for.
int connect_before(int socket, const sockaddr_un& address, SteadyClock::time_point deadline) {
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  while (true) {
    const milliseconds left = std::max(time_left(deadline), milliseconds{1});  // zero: for ever
    const timeval limit{.tv_sec = left.count() / 1000, .tv_usec = left.count() % 1000 * 1000};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (::connect(socket, generic, sizeof(address)) == 0) return 0;
    if (errno != EINTR) return errno;
    if (time_left(deadline) == milliseconds{0}) return EAGAIN;
  }
}

// Takes over every descriptor that came with the message, so that each is closed whatever happens next.
std::vector<FileDescriptor> take_descriptors(msghdr& message) {
  std::vector<FileDescriptor> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(number);
    }
  }
  return descriptors;
}

Error cannot_transfer(const char* what, int error) {
  const std::string text = std::string("cannot ") + what + ": " + words_of(error);
  switch (error) {
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
      return fail(ErrorCode::kCancelled, "the peer has closed the connection");
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS:
      return fail(ErrorCode::kResourceExhausted, text);
    default:
      return fail(ErrorCode::kInvalidArgument, text);
  }
}

}  // namespace

Result<PeerCredentials> peer_credentials(int socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return fail(ErrorCode::kInvalidArgument, "cannot ask who the peer is: " + last_system_error());
  }
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid};
}

Result<FileDescriptor> connect_to(const std::filesystem::path& path, milliseconds timeout) {
  DEEPINFER_TRY(const sockaddr_un address, address_of(path));
  const Status is_private = check_folder(path);
  if (!is_private) return is_private.error();
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return cannot_connect(path, errno);
  const int error = connect_before(socket.number(), address, deadline_after(timeout));
  if (error != 0) return cannot_connect(path, error);
  if (::fcntl(socket.number(), F_SETFL, O_NONBLOCK) != 0) return cannot_connect(path, errno);
  return socket;
}

Result<bool> send_datagram(int socket, std::span<const std::byte> bytes,
                           std::span<const int> descriptors) {
  if (bytes.empty()) return fail(ErrorCode::kInvalidArgument, "a datagram without bytes");
  if (descriptors.size() > kMostPassed) {
    return fail(ErrorCode::kInvalidArgument, std::to_string(descriptors.size()) +
                                                 " descriptors, at most " +
                                                 std::to_string(kMostPassed) + " can be sent");
  }
  // sendmsg only reads them.
  iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  if (!descriptors.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  while (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EAGAIN) return false;
    if (errno != EINTR) return cannot_transfer("send", errno);
  }
  return true;
}

Result<std::optional<Datagram>> receive_datagram(int socket, std::size_t most_bytes,
                                                 std::size_t most_descriptors) {
  Datagram datagram;
  datagram.bytes.resize(most_bytes);
  iovec piece{.iov_base = datagram.bytes.data(), .iov_len = datagram.bytes.size()};
  ControlBuffer control;  // NOLINT(cppcoreguidelines-pro-type-member-init): the kernel writes it
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  // Where none is expected there is no room for one: the kernel then drops what was sent, and says so.
  // Closing it here would run whatever its file system does on close, for as long as that takes.
  if (most_descriptors > 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
  }
  ssize_t got = -1;
  while ((got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0) {
    if (errno == EAGAIN) return std::optional<Datagram>();
    if (errno != EINTR) return cannot_transfer("receive", errno);
  }
  datagram.descriptors = take_descriptors(message);
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return fail(ErrorCode::kDataLoss,
                "a message of more than " + std::to_string(most_bytes) + " bytes");
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0 || datagram.descriptors.size() > most_descriptors) {
    return fail(ErrorCode::kDataLoss,
                "a message with " + std::to_string(datagram.descriptors.size()) +
                    " descriptors, at most " + std::to_string(most_descriptors) +
                    " were expected, or with some that could not be taken");
  }
  // An empty datagram looks the same, and nobody of ours sends one.
  if (got == 0) return fail(ErrorCode::kCancelled, "the peer has closed the connection");
  datagram.bytes.resize(static_cast<std::size_t>(got));
  return std::optional<Datagram>(std::move(datagram));
}

bool wait_readable(int socket, milliseconds timeout) { return wait_for(socket, POLLIN, timeout); }

bool wait_writable(int socket, milliseconds timeout) { return wait_for(socket, POLLOUT, timeout); }

}  // namespace deepinfer::ipc
