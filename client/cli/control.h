// What the operator's commands need of the daemon; Client's questions, answered by a script in tests.
//
// Threads:  confined to one thread
// Errors:   ClientError, whose fault is the exit code
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <deepinfer/client.h>

namespace deepinfer::cli {

class Control {
 public:
  Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;

  [[nodiscard]] virtual std::variant<DaemonStatus, ClientError> status() = 0;
  [[nodiscard]] virtual std::variant<std::vector<JobInfo>, ClientError> jobs() = 0;
  [[nodiscard]] virtual std::variant<JobInfo, ClientError> job(JobId job) = 0;
  [[nodiscard]] virtual std::optional<ClientError> cancel_job(JobId job) = 0;
  [[nodiscard]] virtual std::optional<ClientError> drain() = 0;
  [[nodiscard]] virtual std::optional<ClientError> undrain() = 0;
  // The socket, for messages.
  [[nodiscard]] virtual std::filesystem::path socket() const = 0;
};

// Null on failure, with the error filled. An empty path is the default socket.
using OpenControl =
    std::function<std::unique_ptr<Control>(const std::filesystem::path& socket, ClientError&)>;

}  // namespace deepinfer::cli
