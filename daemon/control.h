// Answers the questions of the control plane: status, jobs, cancel, drain.
//
// Threads:  confined to the loop's thread
// Lifetime: Parts outlive it
// Errors:   a Refusal with the code "unknown_job", "job_ended", "not_permitted", "invalid_value",
//           "not_built", "over_capacity", or what the lifecycle says
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "daemon/gateway.h"
#include "daemon/job_table.h"
#include "ipc/messages.h"

namespace deepinfer::daemon {

// Who asks.
struct Asker {
  SessionId connection{};
  std::uint32_t uid = 0;
  bool is_operator = false;  // root or the daemon's own user
  bool has_session = false;
};

class Control {
 public:
  struct Parts {
    JobTable& jobs;
    Gateway& gateway;
    std::function<DaemonStatus()> status;
    // Asks the lifecycle: why it is refused, or nothing.
    std::function<std::optional<ipc::Refusal>()> drain;
    std::function<std::optional<ipc::Refusal>()> undrain;
    std::function<JobTable::Time()> now;
    std::function<JobId()> new_job_id;
  };
  explicit Control(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] ipc::Reply answer(const ipc::Question& question, const Asker& asker);

 private:
  ipc::Reply reply(const ipc::StatusQuery& query, const Asker& asker);
  ipc::Reply reply(const ipc::JobsQuery& query, const Asker& asker);
  ipc::Reply reply(const ipc::JobQuery& query, const Asker& asker);
  ipc::Reply reply(const ipc::OpenJob& question, const Asker& asker);
  ipc::Reply reply(const ipc::CloseJob& question, const Asker& asker);
  ipc::Reply reply(const ipc::CancelJob& question, const Asker& asker);
  ipc::Reply reply(const ipc::Drain& question, const Asker& asker);
  ipc::Reply reply(const ipc::Undrain& question, const Asker& asker);
  // The job if the asker may see it.
  [[nodiscard]] const JobTable::Job* visible(JobId job, const Asker& asker) const;

  Parts parts_;
};

}  // namespace deepinfer::daemon
