// The daemon and its jobs as a person reads them, and as JSON.
//
// What other users named (jobs, metadata) is shown without control characters.
// Threads:  pure functions
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include <deepinfer/client.h>
#include <nlohmann/json.hpp>

namespace deepinfer::cli {

// Lines, each with its end.
[[nodiscard]] std::string status_text(const DaemonStatus& status, const std::string& socket);
[[nodiscard]] std::string jobs_text(std::span<const JobInfo> jobs);
[[nodiscard]] std::string job_text(const JobInfo& job);

[[nodiscard]] nlohmann::ordered_json status_json(const DaemonStatus& status,
                                                 const std::string& socket);
[[nodiscard]] nlohmann::ordered_json job_json(const JobInfo& job);

// "3 requests queued, 8 running".
[[nodiscard]] std::string load_text(const DaemonStatus& status);
// "2027-01-31T08:00:00Z".
[[nodiscard]] std::string calendar_text(std::chrono::system_clock::time_point time);
// With "?" for control characters.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace deepinfer::cli
