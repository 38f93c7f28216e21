#include "daemon/control.h"

#include <string>
#include <utility>

#include "ipc/socket.h"

namespace deepinfer::daemon {
namespace {

// Jobs that one session may have open: far more than any client needs, far less than memory bears.
constexpr std::int64_t kMostOpenJobs = 256;

ipc::Refusal unknown(JobId job) {
  return {"unknown_job", "there is no " + to_text(job) + " of yours", "see deepinfer jobs", 0};
}

ipc::Refusal not_permitted(const std::string& what) {
  return {"not_permitted", what + " is for root and the daemon's own user", "ask one of them", 0};
}

// About what a job takes in a reply, from above.
std::size_t bytes_of(const JobInfo& job) {
  std::size_t bytes = 256 + job.name.size();
  for (const auto& [key, value] : job.metadata) bytes += 64 + key.size() + value.size();
  return bytes;
}

// Cuts a page to what one datagram holds; one job always fits.
void fit(ipc::JobsPage& page) {
  page.has_more = page.jobs.size() > ipc::kJobsInPage;
  if (page.has_more) page.jobs.pop_back();
  std::size_t bytes = 1024;
  for (std::size_t i = 0; i < page.jobs.size(); ++i) {
    bytes += bytes_of(page.jobs[i]);
    if (i == 0 || bytes <= ipc::kMaxControlBytes) continue;
    page.jobs.resize(i);
    page.has_more = true;
  }
}

std::optional<ipc::Refusal> problem_of(const JobOptions& options) {
  const auto too_long = [](const std::string& what) {
    return ipc::Refusal{"invalid_value", what, "shorten it", 0};
  };
  if (options.name.size() > 256) return too_long("a job's name is longer than 256 bytes");
  if (options.metadata.size() > 16) return too_long("a job has more than 16 pairs of metadata");
  for (const auto& [key, value] : options.metadata) {
    if (key.size() > 64) return too_long("a metadata key is longer than 64 bytes");
    if (value.size() > 512) return too_long("a metadata value is longer than 512 bytes");
  }
  if (options.on_disconnect == OnDisconnect::kCancel) return std::nullopt;
  return ipc::Refusal{"not_built", "jobs that outlive their client are not built into this version",
                      "leave on_disconnect at cancel", 0};
}

}  // namespace

ipc::Reply Control::answer(const ipc::Question& question, const Asker& asker) {
  return std::visit([&](const auto& one) { return reply(one, asker); }, question);
}

const JobTable::Job* Control::visible(JobId job, const Asker& asker) const {
  const JobTable::Job* found = parts_.jobs.find(job);
  if (found == nullptr || asker.is_operator || found->info.uid == asker.uid) return found;
  return nullptr;  // not to be told from one that does not exist
}

ipc::Reply Control::reply(const ipc::StatusQuery& /*query*/, const Asker& /*asker*/) {
  return parts_.status();
}

ipc::Reply Control::reply(const ipc::JobsQuery& query, const Asker& asker) {
  const auto uid = asker.is_operator ? std::nullopt : std::optional(asker.uid);
  ipc::JobsPage page;
  page.jobs = parts_.jobs.list(uid, query.before, ipc::kJobsInPage);
  fit(page);
  return page;
}

ipc::Reply Control::reply(const ipc::JobQuery& query, const Asker& asker) {
  const JobTable::Job* job = visible(query.job, asker);
  if (job == nullptr) return unknown(query.job);
  return job->info;
}

ipc::Reply Control::reply(const ipc::OpenJob& question, const Asker& asker) {
  if (!asker.has_session) {
    return ipc::Refusal{"invalid_value", "this connection has no shared memory to submit by",
                        "open a session", 0};
  }
  if (auto problem = problem_of(question.options)) return *std::move(problem);
  if (parts_.jobs.running_of(asker.connection) >= kMostOpenJobs) {
    return ipc::Refusal{"over_capacity",
                        "this session has " + std::to_string(kMostOpenJobs) + " open jobs",
                        "close some", 0};
  }
  const JobId id = parts_.new_job_id();
  parts_.jobs.open(question.options,
                   {id, asker.uid, asker.connection, JobTable::Kind::kNamed, parts_.now()});
  return id;
}

ipc::Reply Control::reply(const ipc::CloseJob& question, const Asker& asker) {
  const JobTable::Job* job = parts_.jobs.find(question.job);
  if (job == nullptr || job->session != asker.connection) return unknown(question.job);
  parts_.jobs.close(question.job, parts_.now());
  return ipc::Nothing{};
}

ipc::Reply Control::reply(const ipc::CancelJob& question, const Asker& asker) {
  const JobTable::Job* job = visible(question.job, asker);
  if (job == nullptr) return unknown(question.job);
  if (job->info.ended) {
    return ipc::Refusal{"job_ended", to_text(question.job) + " has ended already",
                        "see deepinfer job " + to_text(question.job), 0};
  }
  parts_.gateway.cancel_job(question.job);
  return ipc::Nothing{};
}

ipc::Reply Control::reply(const ipc::Drain& /*question*/, const Asker& asker) {
  if (!asker.is_operator) return not_permitted("draining");
  if (auto refusal = parts_.drain()) return *std::move(refusal);
  return ipc::Nothing{};
}

ipc::Reply Control::reply(const ipc::Undrain& /*question*/, const Asker& asker) {
  if (!asker.is_operator) return not_permitted("undraining");
  if (auto refusal = parts_.undrain()) return *std::move(refusal);
  return ipc::Nothing{};
}

}  // namespace deepinfer::daemon
