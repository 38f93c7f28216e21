// The UNIX socket beside the shared memory: one SEQPACKET datagram is one message, with descriptors.
//
// Everything is without blocking, without SIGPIPE and close-on-exec. Descriptors that were not expected are
// closed on every path.
// Threads:  any; one reader and one writer for each socket
// Errors:   kFailedPrecondition nobody listens; kInvalidArgument permission, a path that is too long or no
//           socket; kDeadlineExceeded; kDataLoss a truncated message or an unexpected descriptor;
//           kResourceExhausted; kCancelled the peer has closed
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace deepinfer::ipc {

inline constexpr std::size_t kMaxControlBytes = 64U << 10U;
inline constexpr std::size_t kMaxHelloBytes = 4096;

// $XDG_RUNTIME_DIR and the like, asked of the environment: docs/reference/command-line.md.
[[nodiscard]] std::filesystem::path system_socket_path();  // /run/deepinfer/deepinferd.sock
[[nodiscard]] std::filesystem::path user_socket_path();
// Where a client looks: DEEPINFER_IPC__SOCKET; the system's for root or where it exists; the user's.
[[nodiscard]] std::filesystem::path client_socket_path();

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
[[nodiscard]] Result<PeerCredentials> peer_credentials(int socket);

// A socket that listens at `path`, made with its mode from the first moment. An abandoned socket is
// replaced; one that a living daemon serves is kFailedPrecondition, and so is one whose lock ("PATH.lock")
// is held. The file and the lock go with the Listener.
class Listener {
 public:
  [[nodiscard]] static Result<Listener> open(const std::filesystem::path& path, mode_t mode);
  // One that the service manager has opened: nothing is removed at the end.
  [[nodiscard]] static Result<Listener> adopt(FileDescriptor socket);
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) noexcept;
  ~Listener();

  [[nodiscard]] int number() const { return socket_.number(); }
  // The next connection, or nothing. kResourceExhausted when descriptors have run out.
  [[nodiscard]] Result<std::optional<FileDescriptor>> accept();

 private:
  Listener(FileDescriptor socket, FileDescriptor lock, std::filesystem::path path);
  FileDescriptor socket_;
  FileDescriptor lock_;
  std::filesystem::path path_;  // empty: adopted
};

[[nodiscard]] Result<FileDescriptor> connect_to(const std::filesystem::path& path,
                                                std::chrono::milliseconds timeout);

// Sends one datagram; false when the socket's buffer is full.
[[nodiscard]] Result<bool> send_datagram(int socket, std::span<const std::byte> bytes,
                                         std::span<const int> descriptors);

struct Datagram {
  std::vector<std::byte> bytes;
  std::vector<FileDescriptor> descriptors;
};
// The next datagram, or nothing yet. More than `most_bytes` or more than `most_descriptors` is kDataLoss.
[[nodiscard]] Result<std::optional<Datagram>> receive_datagram(int socket, std::size_t most_bytes,
                                                               std::size_t most_descriptors);
// Waits for readable (or closed) or for writable. False when `timeout` passes.
[[nodiscard]] bool wait_readable(int socket, std::chrono::milliseconds timeout);
[[nodiscard]] bool wait_writable(int socket, std::chrono::milliseconds timeout);

}  // namespace deepinfer::ipc
