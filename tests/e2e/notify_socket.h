// A service manager's end of the notify protocol: hears what the daemon says of itself.
//
// Threads:  confined to one thread
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace deepinfer::e2e {

class NotifySocket {
 public:
  explicit NotifySocket(const std::filesystem::path& path);
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  ~NotifySocket();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Until a message has this line, or 30 seconds have passed without any message.
  [[nodiscard]] bool wait_for(const std::string& line);
  // Every line so far, in order.
  [[nodiscard]] std::vector<std::string> lines();

 private:
  bool receive(int timeout_ms);

  std::string path_;
  int socket_ = -1;
  std::vector<std::string> lines_;
};

}  // namespace deepinfer::e2e
