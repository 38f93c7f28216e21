// A client that keeps no rule: speaks the socket by hand and writes whatever it likes into its memory.
//
// Threads:  confined to one thread
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "ipc/codec.h"
#include "ipc/layout.h"
#include "ipc/segment.h"
#include "ipc/socket.h"

namespace deepinfer::e2e {

// A connection that has said nothing yet.
[[nodiscard]] FileDescriptor raw_connect(const std::filesystem::path& socket);
// Sends bytes as one datagram.
void raw_send(int socket, const std::vector<std::byte>& bytes, const std::vector<int>& descriptors);
// True when the daemon closes within 20 seconds; what it sends before that is thrown away.
[[nodiscard]] bool is_hung_up(int socket);

struct RawSession {
  FileDescriptor socket;
  ipc::Welcome welcome;
  std::vector<FileDescriptor> descriptors;  // c2d, d2c, doorbell
  std::optional<ipc::Mapping> c2d;
  std::optional<ipc::Mapping> d2c;

  [[nodiscard]] ipc::ClientWords& client() const {
    return *reinterpret_cast<ipc::ClientWords*>(c2d->data());
  }
  [[nodiscard]] const ipc::DaemonWords& daemon() const {
    return *reinterpret_cast<const ipc::DaemonWords*>(d2c->data());
  }
  // Writes one slot as it is given, and moves `published` by `step`.
  void put(const ipc::SubmissionHeader& header, const std::vector<std::byte>& descriptor,
           std::uint32_t step = 1) const;
  // The next completion, or nothing when the daemon hangs up or 20 seconds pass.
  [[nodiscard]] std::optional<ipc::Completion> next();

  std::uint32_t taken = 0;  // completions
};

// Through Hello and Welcome; nothing is checked.
[[nodiscard]] Result<RawSession> raw_session(const std::filesystem::path& socket);

}  // namespace deepinfer::e2e
