#include "daemon/notify.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/values.h"
#include "daemon/log_line.h"

namespace deepinfer::daemon {
namespace {

// A manager that is this slow has other troubles; the loop must not wait for it for ever.
constexpr std::chrono::microseconds kPatience{500'000};
// systemd drops a message of 4096 bytes, and a status that is not UTF-8.
constexpr std::size_t kMaxStatusBytes = 1024;

const std::string* find(const config::Variables& environment, std::string_view name) {
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [name](const auto& one) { return one.first == name; });
  return found == environment.end() ? nullptr : &found->second;
}

// The bytes of a sockaddr_un; "@name" is the abstract one.
Result<std::string> address_of(const std::string& text) {
  const bool is_abstract = text.starts_with('@');
  if (!is_abstract && !text.starts_with('/')) {
    return fail(ErrorCode::kInvalidArgument, "NOTIFY_SOCKET is not a UNIX socket: " + text);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (text.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::kInvalidArgument,
                "NOTIFY_SOCKET has " + std::to_string(text.size()) + " bytes, and 107 is the most");
  }
  std::memcpy(static_cast<char*>(address.sun_path), text.data(), text.size());
  if (is_abstract) address.sun_path[0] = '\0';
  // The length of an abstract address is that of its name; a path ends with a NUL.
  const std::size_t size =
      offsetof(sockaddr_un, sun_path) + text.size() + static_cast<std::size_t>(!is_abstract);
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), &address, size);
  return bytes;
}

// Whether a variable that names a process names this one.
bool is_own(const std::string& process) {
  const auto number = config::parse_integer(process);
  return number && *number == ::getpid();
}

std::optional<std::chrono::microseconds> watchdog_of(const config::Variables& environment) {
  const std::string* interval = find(environment, "WATCHDOG_USEC");
  const std::string* process = find(environment, "WATCHDOG_PID");
  if (interval == nullptr || (process != nullptr && !is_own(*process))) return std::nullopt;
  const auto number = config::parse_integer(*interval);
  if (!number || *number <= 0) return std::nullopt;
  return std::chrono::microseconds(*number);
}

Error unusable(std::string_view name, const std::string& value) {
  return fail(ErrorCode::kInvalidArgument,
              std::string(name) + " makes no sense: \"" + value + "\"");
}

// The names between colons.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char letter : text) {
    if (letter == ':') {
      names.emplace_back();
    } else {
      names.back() += letter;
    }
  }
  return names;
}

}  // namespace

Notifier::Notifier(const config::Variables& environment) {
  const std::string* name = find(environment, "NOTIFY_SOCKET");
  if (name == nullptr || name->empty()) return;
  auto address = address_of(*name);
  if (!address) {
    trouble_ = address.error().message;
    return;
  }
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) {
    trouble_ = "cannot make a socket: " + last_system_error();
    return;
  }
  timeval patience{};
  patience.tv_usec = kPatience.count();
  static_cast<void>(
      ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience));
  socket_ = std::move(socket);
  address_ = *std::move(address);
  watchdog_interval_ = watchdog_of(environment);
}

void Notifier::send(const std::string& message) {
  if (!socket_.is_open()) return;
  ssize_t sent = -1;
  do {
    sent = ::sendto(socket_.number(), message.data(), message.size(), MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(address_.data()),
                    static_cast<socklen_t>(address_.size()));
  } while (sent < 0 && errno == EINTR);
  trouble_ = sent < 0 ? "cannot tell the service manager: " + last_system_error() : "";
}

void Notifier::ready() { send("READY=1"); }

void Notifier::status(std::string_view text) {
  std::string line = "STATUS=" + std::string(first_bytes(text, kMaxStatusBytes));
  for (char& letter : line) {
    if (static_cast<unsigned char>(letter) < 0x20) letter = ' ';
  }
  send(line);
}

void Notifier::reloading(std::chrono::microseconds since_boot) {
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(since_boot.count()));
}

void Notifier::stopping() { send("STOPPING=1"); }

void Notifier::extend_timeout(std::chrono::microseconds more) {
  send("EXTEND_TIMEOUT_USEC=" + std::to_string(more.count()));
}

void Notifier::watchdog() { send("WATCHDOG=1"); }

Result<std::vector<ActivationSocket>> take_activation_sockets(const config::Variables& environment,
                                                              int first) {
  std::vector<ActivationSocket> sockets;
  const std::string* process = find(environment, "LISTEN_PID");
  const std::string* count_text = find(environment, "LISTEN_FDS");
  if (process == nullptr || count_text == nullptr) return sockets;
  if (!config::parse_integer(*process)) return unusable("LISTEN_PID", *process);
  if (!is_own(*process)) return sockets;
  const auto count = config::parse_integer(*count_text);
  if (!count || *count < 0 || *count > std::numeric_limits<int>::max() - first) {
    return unusable("LISTEN_FDS", *count_text);
  }
  const std::string* names_text = find(environment, "LISTEN_FDNAMES");
  const auto names = names_text == nullptr ? std::vector<std::string>() : names_in(*names_text);
  for (int i = 0; i < *count; ++i) {
    const int number = first + i;
    const int flags = ::fcntl(number, F_GETFD);
    if (flags < 0 || ::fcntl(number, F_SETFD, flags | FD_CLOEXEC) < 0) {
      return fail(ErrorCode::kInvalidArgument, "LISTEN_FDS says " + *count_text +
                                                   ", but descriptor " + std::to_string(number) +
                                                   " is not open");
    }
    const auto place = static_cast<std::size_t>(i);
    const bool is_named = place < names.size() && !names[place].empty();
    sockets.push_back({is_named ? names[place] : "unknown", FileDescriptor(number)});
  }
  return sockets;
}

}  // namespace deepinfer::daemon
