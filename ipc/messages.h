// What the two processes tell each other, as plain values. ipc/codec.h turns them into bytes and back.
//
// Threads:  plain values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <deepinfer/jobs.h>
#include <deepinfer/types.h>

#include "ipc/layout.h"
#include "ipc/span_arena.h"

namespace deepinfer::ipc {

// Bits of Hello::features and Welcome::features; unknown bits are ignored.
inline constexpr std::uint64_t kFeatureTokens = 1ULL << 0U;  // completions of single tokens
inline constexpr std::uint64_t kAllFeatures = kFeatureTokens;

// A control connection asks and is answered; a session also has shared memory.
enum class ConnectionKind : std::uint8_t { kControl = 0, kSession = 1 };

// The first datagram of a connection, from the client.
struct Hello {
  std::uint32_t magic = kMagic;
  std::uint16_t abi_major = kAbiMajor;
  std::uint16_t abi_minor = kAbiMinor;
  std::uint64_t layout = layout_hash();
  std::uint64_t features = kAllFeatures;
  ConnectionKind kind = ConnectionKind::kSession;
  std::string client_name;     // at most 64 bytes
  std::string client_version;  // at most 64 bytes
  Geometry wanted;             // a wish; zeros: the daemon's
};

// Its answer, with c2d, d2c and the doorbell for a session.
struct Welcome {
  std::uint16_t abi_major = kAbiMajor;
  std::uint16_t abi_minor = kAbiMinor;
  std::uint64_t features = 0;  // both know
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;  // random, of the daemon's run
  Geometry granted;
  std::uint64_t max_unfinished = 0;  // requests of one session
  std::string version;               // of the daemon
  ModelFacts model;
};

// Why something was refused. `code` is one of docs/reference/errors.md.
struct Refusal {
  std::string code;
  std::string what;
  std::string mend;
  std::uint64_t retry_after_ms = 0;  // 0: retrying does not help
};
using HelloReply = std::variant<Welcome, Refusal>;

// Questions of the control plane, on any connection after Welcome. `number` comes back in the reply.
struct StatusQuery {};
struct JobsQuery {
  std::optional<JobId> before;  // the page that follows this job (newest first)
};
struct JobQuery {
  JobId job;
};
struct OpenJob {
  JobOptions options;
};
struct CloseJob {
  JobId job;
};
struct CancelJob {
  JobId job;
};
struct Drain {};
struct Undrain {};
using Question =
    std::variant<StatusQuery, JobsQuery, JobQuery, OpenJob, CloseJob, CancelJob, Drain, Undrain>;
struct ControlRequest {
  std::uint64_t number = 0;
  Question question;
};

struct Nothing {};
struct JobsPage {
  std::vector<JobInfo> jobs;  // at most kJobsInPage
  bool has_more = false;
};
inline constexpr std::size_t kJobsInPage = 32;
using Reply = std::variant<Refusal, Nothing, DaemonStatus, JobsPage, JobInfo, JobId>;
struct ControlReply {
  std::uint64_t number = 0;
  Reply reply;
};

// Where the text of a prompt lies in the request arena. One of the three forms, as Request::prompt.
struct TextSpans {
  Span text;
};
struct TokenSpans {
  Span ids;  // std::int32_t each
};
struct ChatSpans {
  Span messages;
  Span tools;
  Span response_format;
  bool thinking = true;
  std::int64_t reasoning_effort = 75;
};

// A submission's descriptor. request.prompt is not part of it: `prompt` says where it lies.
struct SubmitMessage {
  std::optional<JobId> job;  // unset: the session's own
  bool stream = false;       // completions of single tokens are wanted
  Request request;
  std::variant<TextSpans, TokenSpans, ChatSpans> prompt;
};

}  // namespace deepinfer::ipc
