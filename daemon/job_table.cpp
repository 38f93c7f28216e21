#include "daemon/job_table.h"

#include <algorithm>
#include <iterator>

namespace deepinfer::daemon {

Ending ending_of(const RequestResult& result) {
  Ending ending = Ending::kCompleted;
  for (const Choice& choice : result.choices) {
    if (choice.reason == FinishReason::kError || choice.reason == FinishReason::kDeadline) {
      return Ending::kFailed;
    }
    if (choice.reason == FinishReason::kCancelled) ending = Ending::kCancelled;
  }
  return ending;
}

void JobTable::open(const JobOptions& options, const Opening& opening) {
  Entry entry;
  entry.order = next_order_++;
  entry.job.session = opening.session;
  entry.job.kind = opening.kind;
  entry.job.seed = options.seed;
  entry.job.info.id = opening.id;
  entry.job.info.name = options.name;
  entry.job.info.metadata = options.metadata;
  entry.job.info.uid = opening.uid;
  entry.job.info.created = opening.now;
  by_order_.emplace(entry.order, opening.id);
  jobs_.insert_or_assign(opening.id, std::move(entry));
  ++running_;
}

const JobTable::Job* JobTable::find(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second.job;
}

JobTable::Entry* JobTable::entry(JobId job) {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

void JobTable::request_queued(JobId job) {
  Entry* found = entry(job);
  if (found == nullptr) return;
  ++found->job.info.counts.total;
  ++found->job.info.counts.queued;
}

void JobTable::request_started(JobId job) {
  Entry* found = entry(job);
  if (found == nullptr) return;
  --found->job.info.counts.queued;
  ++found->job.info.counts.running;
}

void JobTable::request_ended(JobId job, const RequestEnd& end, Time now) {
  Entry* found = entry(job);
  if (found == nullptr) return;
  JobCounts& counts = found->job.info.counts;
  --(end.from == Stage::kRunning ? counts.running : counts.queued);
  if (end.ending == Ending::kCompleted) ++counts.completed;
  if (end.ending == Ending::kFailed) ++counts.failed;
  if (end.ending == Ending::kCancelled) ++counts.cancelled;
  end_if_done(*found, now);
}

void JobTable::close(JobId job, Time now) {
  Entry* found = entry(job);
  if (found == nullptr) return;
  found->job.is_closed = true;
  end_if_done(*found, now);
}

void JobTable::cancel(JobId job, Time now) {
  Entry* found = entry(job);
  if (found == nullptr || found->has_ended) return;
  found->job.is_closed = true;
  found->job.info.state = JobState::kCancelled;
  end_if_done(*found, now);
}

void JobTable::session_gone(SessionId session, Time now) {
  for (auto& item : jobs_) {
    Entry& one = item.second;
    if (one.job.session != session || one.has_ended) continue;
    const bool is_whole = one.job.unfinished() == 0 && one.job.kind == Kind::kUnnamed;
    if (one.job.info.state == JobState::kCancelled) {
      end(one, JobState::kCancelled, now);
    } else {
      end(one, is_whole ? JobState::kCompleted : JobState::kLost, now);
    }
  }
}

void JobTable::end_if_done(Entry& entry, Time now) {
  if (entry.has_ended || !entry.job.is_closed || entry.job.unfinished() > 0) return;
  const bool is_cancelled = entry.job.info.state == JobState::kCancelled;
  end(entry, is_cancelled ? JobState::kCancelled : JobState::kCompleted, now);
}

void JobTable::end(Entry& entry, JobState state, Time now) {
  entry.has_ended = true;
  entry.job.is_closed = true;
  entry.job.info.state = state;
  entry.job.info.ended = now;
  --running_;
  ended_.push_back(entry.job.info.id);
  if (ended_.size() <= kKeptJobs) return;
  const auto oldest = jobs_.find(ended_.front());
  by_order_.erase(oldest->second.order);
  jobs_.erase(oldest);
  ended_.pop_front();
}

std::vector<JobInfo> JobTable::list(std::optional<std::uint32_t> uid, std::optional<JobId> before,
                                    std::size_t most) const {
  auto next = by_order_.rbegin();
  if (before) {
    const auto found = jobs_.find(*before);
    if (found == jobs_.end()) return {};
    next = std::make_reverse_iterator(by_order_.find(found->second.order));
  }
  std::vector<JobInfo> list;
  for (; next != by_order_.rend() && list.size() <= most; ++next) {
    const JobInfo& info = jobs_.at(next->second).job.info;
    if (!uid || *uid == info.uid) list.push_back(info);
  }
  return list;
}

std::int64_t JobTable::running_of(SessionId session) const {
  return std::count_if(jobs_.begin(), jobs_.end(), [session](const auto& item) {
    return item.second.job.session == session && !item.second.has_ended;
  });
}

}  // namespace deepinfer::daemon
