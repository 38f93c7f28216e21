// One client with shared memory, as the gateway sees it.
//
// Threads:  confined to the loop's thread
// Lifetime: owned by the Gateway; gone with its connection
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include <deepinfer/jobs.h>

#include "daemon/engine_thread.h"
#include "daemon/job_table.h"
#include "daemon/loop.h"
#include "daemon/response_writer.h"
#include "ipc/daemon_end.h"

namespace deepinfer::daemon {

// A request whose prompt is to be encoded.
struct UnencodedRequest {
  Ticket ticket{};
  Request request;
  std::uint64_t bytes = 0;  // of the prompt, and of a descriptor in the arena
};

struct Session {
  Session(SessionId number, std::uint32_t owner, std::unique_ptr<ipc::DaemonEnd> memory,
          std::size_t most_waiting)
      : id(number), uid(owner), end(std::move(memory)), writer(*end, most_waiting) {}

  const SessionId id;
  const std::uint32_t uid;
  const std::unique_ptr<ipc::DaemonEnd> end;
  ResponseWriter writer;
  std::optional<JobId> unnamed_job;                      // of requests without a job
  std::unordered_map<std::uint64_t, Ticket> unfinished;  // by the client's user_data
  std::deque<UnencodedRequest> unencoded;                // in order of arrival
  std::uint64_t unencoded_bytes = 0;                     // with those on the pool; at most an arena
  PoolWork* encoding = nullptr;  // one batch at a time: order is kept. Owned by the pool
  std::int64_t answers = 0;      // choices of unfinished requests
  std::uint64_t held_bytes = 0;  // descriptors of unfinished requests, where they are large
  bool has_news = false;         // is in Gateway's list of sessions to flush
};

}  // namespace deepinfer::daemon
