#include "tests/e2e/notify_socket.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace deepinfer::e2e {
namespace {

constexpr int kPatienceMs = 30'000;

}  // namespace

NotifySocket::NotifySocket(const std::filesystem::path& path)
    : path_(path.string()), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) std::abort();
  std::copy(path_.begin(), path_.end(), std::begin(address.sun_path));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket_, generic, sizeof address) != 0) std::abort();
}

NotifySocket::~NotifySocket() { ::close(socket_); }

bool NotifySocket::receive(int timeout_ms) {
  pollfd waiting{socket_, POLLIN, 0};
  if (::poll(&waiting, 1, timeout_ms) <= 0) return false;
  std::array<char, 4096> buffer{};
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  std::istringstream text(std::string(buffer.data(), static_cast<std::size_t>(count)));
  for (std::string line; std::getline(text, line);) lines_.push_back(line);
  return true;
}

bool NotifySocket::wait_for(const std::string& line) {
  while (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) {
    if (!receive(kPatienceMs)) return false;
  }
  return true;
}

std::vector<std::string> NotifySocket::lines() {
  while (receive(0)) {
  }
  return lines_;
}

}  // namespace deepinfer::e2e
