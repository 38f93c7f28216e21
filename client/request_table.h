// The requests that a daemon has not ended, what is still to be told to their sinks, and the jobs.
//
// Completions go in, events come out in the order of their arrival. A request leaves the table with its
// last completion, and is `unfinished` until its sink has heard of it.
// Threads:  confined to one thread, or behind its owner's lock
// Lifetime: sinks outlive their requests
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <deepinfer/client.h>

#include "ipc/layout.h"
#include "ipc/span_arena.h"

namespace deepinfer::client {

// A request's spans in the request arena; those of zero bytes are not used.
using Spans = std::array<ipc::Span, 4>;
void free_spans(ipc::SpanArena& arena, Spans& spans);

enum class EventKind : std::uint8_t { kToken, kFinished, kRefused, kLost };

// Something to be told to a sink. All but kToken are a request's last.
struct Event {
  EventKind kind = EventKind::kLost;
  RequestHandle request{};
  ClientSink* sink = nullptr;
  std::vector<std::byte> payload;  // encoded TokenEvent, RequestResult or RequestError
};

class RequestTable {
 public:
  struct Entry {
    ClientSink* sink = nullptr;
    std::optional<JobId> job;
    bool stream = false;
    Spans spans{};                 // until the daemon has copied them
    std::vector<std::byte> parts;  // of a result that comes in several completions
  };
  // Handles are counted from 1 on and are never used again.
  [[nodiscard]] RequestHandle next_handle() const { return RequestHandle{next_}; }
  // Under next_handle().
  void add(Entry entry);
  [[nodiscard]] bool contains(RequestHandle request) const;

  // Applies one completion. `payload` may be moved from.
  void take(const ipc::Completion& completion, std::vector<std::byte>& payload,
            ipc::SpanArena& arena);
  // Every request ends with kLost; jobs that are open, or had one of them, are lost.
  void lose_all();

  void note_opened(JobId job) { open_jobs_.insert(job); }
  void note_ended(JobId job) { open_jobs_.erase(job); }
  [[nodiscard]] std::vector<JobId> take_lost_jobs();

  [[nodiscard]] bool has_events() const { return !events_.empty(); }
  [[nodiscard]] std::size_t event_count() const { return events_.size(); }
  [[nodiscard]] Event pop_event();
  // Its sink has heard a request's last event.
  void note_heard() { --unfinished_; }

  [[nodiscard]] std::size_t with_daemon() const { return entries_.size(); }
  [[nodiscard]] std::int64_t unfinished() const { return unfinished_; }

 private:
  using Entries = std::map<std::uint64_t, Entry>;
  void end(Entries::iterator found, EventKind kind, std::vector<std::byte> payload);
  void lose_job(const std::optional<JobId>& job);

  std::uint64_t next_ = 1;
  Entries entries_;  // by handle, so that losses are told in the order of submission
  std::deque<Event> events_;
  std::int64_t unfinished_ = 0;
  std::set<JobId> open_jobs_;
  std::set<JobId> lost_jobs_;
};

}  // namespace deepinfer::client
