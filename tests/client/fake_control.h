// A daemon that answers the operator's questions from a script.
//
// Threads:  confined to one thread
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/cli/control.h"

namespace deepinfer::cli {

// What the daemon says, and what it was asked; outlives every FakeControl.
struct FakeDaemon {
  // Answers to status(), one after the other; the last stays.
  std::vector<std::variant<DaemonStatus, ClientError>> statuses{DaemonStatus{}};
  std::vector<JobInfo> jobs;
  std::optional<ClientError> refusal;  // of cancel_job, drain and undrain
  std::size_t statuses_asked = 0;
  std::vector<std::string> orders;  // "drain", "undrain", "cancel job_..."
};

inline ClientError unknown_job(JobId job) {
  return {ClientFault::kRefused, "unknown_job", "there is no such job", to_text(job),
          "see deepinfer jobs"};
}

class FakeControl final : public Control {
 public:
  FakeControl(FakeDaemon& daemon, std::filesystem::path socket)
      : daemon_(daemon), socket_(std::move(socket)) {}

  std::variant<DaemonStatus, ClientError> status() override {
    const std::size_t next = std::min(daemon_.statuses_asked++, daemon_.statuses.size() - 1);
    return daemon_.statuses[next];
  }
  std::variant<std::vector<JobInfo>, ClientError> jobs() override { return daemon_.jobs; }
  std::variant<JobInfo, ClientError> job(JobId job) override {
    for (const JobInfo& info : daemon_.jobs) {
      if (info.id == job) return info;
    }
    return unknown_job(job);
  }
  std::optional<ClientError> cancel_job(JobId job) override {
    daemon_.orders.push_back("cancel " + to_text(job));
    for (JobInfo& info : daemon_.jobs) {
      if (info.id != job) continue;
      if (!daemon_.refusal) info.state = JobState::kCancelled;
      return daemon_.refusal;
    }
    return unknown_job(job);
  }
  std::optional<ClientError> drain() override {
    daemon_.orders.emplace_back("drain");
    return daemon_.refusal;
  }
  std::optional<ClientError> undrain() override {
    daemon_.orders.emplace_back("undrain");
    return daemon_.refusal;
  }
  [[nodiscard]] std::filesystem::path socket() const override { return socket_; }

 private:
  FakeDaemon& daemon_;
  std::filesystem::path socket_;
};

}  // namespace deepinfer::cli
