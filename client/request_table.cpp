#include "client/request_table.h"

#include <iterator>
#include <utility>

namespace deepinfer::client {
namespace {

void append(std::vector<std::byte>& all, std::vector<std::byte>& part) {
  if (all.empty()) {
    all.swap(part);
    return;
  }
  all.insert(all.end(), part.begin(), part.end());
}

}  // namespace

void free_spans(ipc::SpanArena& arena, Spans& spans) {
  for (ipc::Span& span : spans) {
    if (span.bytes > 0) arena.free(span);
    span = {};
  }
}

void RequestTable::add(Entry entry) {
  entries_.emplace_hint(entries_.end(), next_++, std::move(entry));
  ++unfinished_;
}

bool RequestTable::contains(RequestHandle request) const {
  return entries_.contains(static_cast<std::uint64_t>(request));
}

void RequestTable::take(const ipc::Completion& completion, std::vector<std::byte>& payload,
                        ipc::SpanArena& arena) {
  const auto found = entries_.find(completion.user_data);
  if (found == entries_.end()) return;  // the answer to kNothing, or of a newer daemon
  Entry& entry = found->second;
  switch (static_cast<ipc::CompletionKind>(completion.kind)) {
    case ipc::CompletionKind::kAccepted:
      free_spans(arena, entry.spans);
      return;
    case ipc::CompletionKind::kTokens:
      if (!entry.stream) return;
      events_.push_back(
          {EventKind::kToken, RequestHandle{found->first}, entry.sink, std::move(payload)});
      return;
    case ipc::CompletionKind::kResultPart:
      append(entry.parts, payload);
      return;
    case ipc::CompletionKind::kResult:
      append(entry.parts, payload);
      free_spans(arena, entry.spans);
      end(found, EventKind::kFinished, std::move(entry.parts));
      return;
    case ipc::CompletionKind::kRefused:
      free_spans(arena, entry.spans);
      end(found, EventKind::kRefused, std::move(payload));
      return;
    case ipc::CompletionKind::kLost:
      free_spans(arena, entry.spans);
      lose_job(entry.job);
      end(found, EventKind::kLost, {});
      return;
    case ipc::CompletionKind::kNothingDone:
      return;
  }
}

void RequestTable::lose_all() {
  while (!entries_.empty()) {
    lose_job(entries_.begin()->second.job);
    end(entries_.begin(), EventKind::kLost, {});
  }
  lost_jobs_.merge(open_jobs_);
  open_jobs_.clear();
}

std::vector<JobId> RequestTable::take_lost_jobs() {
  std::vector<JobId> jobs(lost_jobs_.begin(), lost_jobs_.end());
  lost_jobs_.clear();
  return jobs;
}

Event RequestTable::pop_event() {
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void RequestTable::end(Entries::iterator found, EventKind kind, std::vector<std::byte> payload) {
  events_.push_back({kind, RequestHandle{found->first}, found->second.sink, std::move(payload)});
  entries_.erase(found);
}

void RequestTable::lose_job(const std::optional<JobId>& job) {
  if (!job) return;
  lost_jobs_.insert(*job);
  open_jobs_.erase(*job);
}

}  // namespace deepinfer::client
