// What passes between the daemon and its service manager: systemd's notify protocol and socket activation.
//
// Both are plain text in the environment and on a datagram socket (sd_notify(3), sd_listen_fds(3)), spoken
// here without libsystemd. Without a service manager everything here does nothing.
// Units:    microseconds on the wire, as CLOCK_MONOTONIC counts them
// Threads:  a Notifier is confined to one thread
// Errors:   a message that cannot be sent is lost, and trouble() says why: it never ends the daemon
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "config/environment.h"

namespace deepinfer::daemon {

class Notifier {
 public:
  // Looks at NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  explicit Notifier(const config::Variables& environment);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  ~Notifier() = default;

  void ready();
  // One line for people: "serving nano". Line breaks become spaces.
  void status(std::string_view text);
  // `since_boot` is CLOCK_MONOTONIC. To be followed by ready(), whatever the reload came to.
  void reloading(std::chrono::microseconds since_boot);
  void stopping();
  // `more` from now on, before the manager takes the start or the stop for stuck.
  void extend_timeout(std::chrono::microseconds more);
  void watchdog();

  // How often the manager wants to hear watchdog() at the latest; unset: it does not.
  [[nodiscard]] std::optional<std::chrono::microseconds> watchdog_interval() const {
    return watchdog_interval_;
  }
  [[nodiscard]] bool is_active() const { return socket_.is_open(); }
  // Why the last message was lost, or why none is sent; empty: all is well, or nobody listens.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  void send(const std::string& message);

  FileDescriptor socket_;
  std::string address_;  // as bytes of sockaddr_un
  std::string trouble_;
  std::optional<std::chrono::microseconds> watchdog_interval_;
};

// A socket that the service manager has opened for this process.
struct ActivationSocket {
  std::string name;  // FileDescriptorName= of the unit, or "unknown"
  FileDescriptor socket;
};

// The first descriptor that is passed, by the protocol.
inline constexpr int kFirstActivationSocket = 3;

// Takes the descriptors that LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES announce, and marks them
// close-on-exec: call it once. None when they are meant for another process.
// Errors: kInvalidArgument a variable makes no sense, or a descriptor is not open
[[nodiscard]] Result<std::vector<ActivationSocket>> take_activation_sockets(
    const config::Variables& environment, int first = kFirstActivationSocket);

}  // namespace deepinfer::daemon
