// One client with shared memory, as the gateway sees it.
//
// Threads:  confined to the loop's thread
// Lifetime: owned by the Gateway; gone with its connection
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <deepinfer/jobs.h>

#include "daemon/engine_thread.h"
#include "daemon/job_table.h"
#include "daemon/response_writer.h"
#include "ipc/daemon_end.h"

namespace deepinfer::daemon {

// A request whose prompt is to be encoded.
struct UnencodedRequest {
  Ticket ticket{};
  Request request;
  std::uint64_t bytes = 0;  // of the prompt
};

struct Session {
  Session(SessionId number, std::uint32_t owner, std::unique_ptr<ipc::DaemonEnd> memory)
      : id(number), uid(owner), end(std::move(memory)), writer(*end) {}

  const SessionId id;
  const std::uint32_t uid;
  const std::unique_ptr<ipc::DaemonEnd> end;
  ResponseWriter writer;
  std::optional<JobId> unnamed_job;                      // of requests without a job
  std::unordered_map<std::uint64_t, Ticket> unfinished;  // by the client's user_data
  std::vector<UnencodedRequest> unencoded;               // in order of arrival
  std::uint64_t unencoded_bytes = 0;                     // with those on the pool; at most an arena
  bool is_encoding = false;                              // one batch at a time: order is kept
  bool has_news = false;  // is in Gateway's list of sessions to flush
};

}  // namespace deepinfer::daemon
