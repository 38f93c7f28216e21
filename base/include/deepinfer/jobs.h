// The values in which the daemon and its clients speak of jobs and of the daemon itself.
//
// Included by <deepinfer/client.h>; there is no need to include it by itself.
// Threads:  plain values
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <deepinfer/types.h>

namespace deepinfer {

// A job as it is named everywhere: 128 random bits, chosen by the daemon.
struct JobId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees what the compiler makes of "default"
  friend auto operator<=>(const JobId&, const JobId&) = default;
};

// "job_" and 32 lower-case hexadecimal digits.
[[nodiscard]] inline std::string to_text(JobId job) {
  std::string text = "job_";
  for (const std::uint64_t half : {job.high, job.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) {
      text += "0123456789abcdef"[(half >> static_cast<unsigned>(shift)) & 15U];
    }
  }
  return text;
}

// Reads what to_text() writes, "job_" being optional.
[[nodiscard]] inline std::optional<JobId> parse_job_id(std::string_view text) {
  if (text.starts_with("job_")) text.remove_prefix(4);
  if (text.size() != 32) return std::nullopt;
  JobId job;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    const bool is_digit = letter >= '0' && letter <= '9';
    const bool is_letter = letter >= 'a' && letter <= 'f';
    if (!is_digit && !is_letter) return std::nullopt;
    const auto value = static_cast<std::uint64_t>(is_digit ? letter - '0' : letter - 'a' + 10);
    std::uint64_t& half = i < 16 ? job.high : job.low;
    half = (half << 4U) | value;
  }
  return job;
}

// What becomes of the unfinished requests of a job whose client is gone.
enum class OnDisconnect : std::uint8_t {
  kCancel,
  kContinue,  // needs durable jobs, which this version refuses
};

struct JobOptions {
  std::string name;                             // shown in lists; at most 256 bytes
  std::map<std::string, std::string> metadata;  // at most 16; keys 64 bytes, values 512
  std::optional<std::uint64_t> seed;            // of default seeds; unset: 0
  OnDisconnect on_disconnect = OnDisconnect::kCancel;
};

enum class JobState : std::uint8_t {
  kRunning,    // takes requests, or has unfinished ones
  kCompleted,  // closed, and every request has ended
  kCancelled,  // by its owner or an operator; its requests have ended or are about to
  kLost,       // its client went away before it ended
};
// "running", "completed", "cancelled", "lost".
[[nodiscard]] constexpr const char* name_of(JobState state) noexcept {
  switch (state) {
    case JobState::kRunning:
      return "running";
    case JobState::kCompleted:
      return "completed";
    case JobState::kCancelled:
      return "cancelled";
    case JobState::kLost:
      break;
  }
  return "lost";
}

// Requests of a job. total = completed + failed + cancelled + queued + running.
struct JobCounts {
  std::int64_t total = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;  // ended with an error, at their deadline, or refused when checked
  std::int64_t cancelled = 0;
  std::int64_t queued = 0;   // accepted, not yet with the engine
  std::int64_t running = 0;  // with the engine
};

struct JobInfo {
  JobId id;
  std::string name;
  std::uint32_t uid = 0;  // of its owner
  JobState state = JobState::kRunning;
  JobCounts counts;
  std::map<std::string, std::string> metadata;
  std::chrono::system_clock::time_point created;
  std::optional<std::chrono::system_clock::time_point> ended;
};

enum class DaemonState : std::uint8_t { kLoading, kReady, kDraining, kDrained, kStopping };
// "loading", "ready", "draining", "drained", "stopping".
[[nodiscard]] constexpr const char* name_of(DaemonState state) noexcept {
  switch (state) {
    case DaemonState::kLoading:
      return "loading";
    case DaemonState::kReady:
      return "ready";
    case DaemonState::kDraining:
      return "draining";
    case DaemonState::kDrained:
      return "drained";
    case DaemonState::kStopping:
      break;
  }
  return "stopping";
}

struct DaemonStatus {
  DaemonState state = DaemonState::kLoading;
  std::string version;
  std::int64_t pid = 0;
  std::chrono::milliseconds uptime{0};
  ModelFacts model;
  std::string backend;        // "cpu"
  std::int64_t sessions = 0;  // connected clients, this one included
  std::int64_t jobs_running = 0;
  std::int64_t requests_queued = 0;    // accepted, not yet with the engine
  std::int64_t requests_running = 0;   // with the engine
  std::int64_t requests_finished = 0;  // since the start, whatever ended them
  std::int64_t requests_refused = 0;
  EngineStats engine;
};

}  // namespace deepinfer
