// Work for the node daemon deepinferd, from a C++ program: connect, submit, read answers.
//
//   deepinfer::ClientError error;
//   auto client = deepinfer::Client::connect({}, error);
//   deepinfer::Request request;
//   request.prompt = deepinfer::ChatPrompt{.messages = R"([{"role":"user","content":"Hello"}])"};
//   const deepinfer::Client::Answer answer = client->generate(request);
//
// For many requests at once: submit() each with a sink, then deliver() until all have ended.
//
// Threads:  every function may be called from any thread. Sinks are called by whichever thread is in
//           deliver() or generate(), one call at a time, without a lock held: a sink may submit and
//           cancel, but not deliver.
// Lifetime: a sink outlives the requests that were submitted with it, or the Client. After fork() the
//           child must not use its parent's Client: every call there fails with kUsage.
// Errors:   ClientError, whose fault is an exit code of our programs; nothing throws. When the daemon
//           goes away, unfinished requests end with on_lost(), lost_jobs() names their jobs, and the
//           next call that needs a daemon connects again.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <deepinfer/jobs.h>
#include <deepinfer/types.h>

namespace deepinfer {

// What kind of failure it is. The number is the exit code of our programs.
enum class ClientFault : std::uint8_t {
  kNone = 0,
  kUsage = 2,        // an argument that cannot be meant
  kUnreachable = 3,  // no daemon there, or it went away during the call
  kRefused = 5,      // draining, over capacity, not permitted, unknown job, other protocol
};

struct ClientError {
  ClientFault fault = ClientFault::kNone;
  std::string code;   // docs/reference/errors.md: "daemon_unreachable", "draining", ...
  std::string what;   // one lower-case clause
  std::string where;  // socket, field or job
  std::string mend;   // how to mend it
};

struct ClientOptions {
  std::filesystem::path socket{};  // empty: default_socket()
  std::string name{};              // shown by the daemon; empty: the program's
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds reconnect_timeout{10000};  // how long a call waits for a daemon that
                                                       // restarts; 0: it fails at once
  // Longest busy wait before sleeping; 0: never. Switches itself off where it does not pay.
  std::chrono::microseconds spin{20};
};

// $DEEPINFER_IPC__SOCKET; else /run/deepinfer/deepinferd.sock for root or where it exists; else the
// user's own, $XDG_RUNTIME_DIR/deepinfer/deepinferd.sock or /tmp/deepinfer-$UID/deepinferd.sock.
[[nodiscard]] std::filesystem::path default_socket();

// Where the answers to submitted requests go. Exactly one of on_finished, on_refused and on_lost is
// called for each request, as its last call.
class ClientSink : public Sink {
 public:
  // The daemon did not accept it; nothing ran. code "draining" and "over_capacity" can be retried.
  virtual void on_refused(RequestHandle request, const RequestError& error) = 0;
  // The daemon went away, or is stopping, before the request had ended.
  virtual void on_lost(RequestHandle request) = 0;
};

class Client {
 public:
  // Null on failure, with `error` filled.
  [[nodiscard]] static std::unique_ptr<Client> connect(const ClientOptions& options,
                                                       ClientError& error);

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  // Unfinished requests are cancelled; their sinks hear nothing more.
  ~Client();

  // A job names requests that belong together in lists, and is cancelled as one.
  [[nodiscard]] std::variant<JobId, ClientError> open_job(const JobOptions& options);
  // No more requests will come: the job ends with its last one.
  [[nodiscard]] std::optional<ClientError> close_job(JobId job);

  struct SubmitOptions {
    std::optional<JobId> job{};  // unset: a job of this Client that has no name
    bool stream = false;         // whether the sink hears of tokens
  };
  struct Submitted {
    RequestHandle request{};             // valid when error is not set
    std::optional<ClientError> error{};  // nothing was submitted, the sink hears nothing
  };
  // Writes the request into shared memory and returns; waits only while there is no room.
  // A handle is unique in this Client. Request::deadline is this machine's steady clock.
  [[nodiscard]] Submitted submit(const Request& request, ClientSink& sink,
                                 const SubmitOptions& options);
  [[nodiscard]] Submitted submit(const Request& request, ClientSink& sink);

  // Asks for a request to end with kCancelled and the text so far. False when it is unknown here or
  // has ended.
  bool cancel(RequestHandle request);

  enum class Delivered : std::uint8_t { kSomething, kNothing };
  // Gives the sinks what has come, waiting at most `timeout` for the first of it. Returns at once
  // with kNothing when no request is unfinished.
  Delivered deliver(std::chrono::milliseconds timeout);

  // Submits and waits. Text of a refused request is in RequestError.
  using Answer = std::variant<RequestResult, RequestError, ClientError>;
  [[nodiscard]] Answer generate(const Request& request);

  // Requests that were submitted and have not ended.
  [[nodiscard]] std::int64_t unfinished() const;
  // The jobs that went with a daemon, since the last call.
  [[nodiscard]] std::vector<JobId> lost_jobs();
  // Of the daemon that was connected last.
  [[nodiscard]] ModelFacts model() const;

  [[nodiscard]] std::variant<DaemonStatus, ClientError> status();
  // Every job of this user, newest first; root and the daemon's own user see all.
  [[nodiscard]] std::variant<std::vector<JobInfo>, ClientError> jobs();
  [[nodiscard]] std::variant<JobInfo, ClientError> job(JobId job);
  [[nodiscard]] std::optional<ClientError> cancel_job(JobId job);
  // Root and the daemon's own user only. Accepted requests go on; new ones are refused.
  [[nodiscard]] std::optional<ClientError> drain();
  [[nodiscard]] std::optional<ClientError> undrain();

 private:
  class Parts;
  explicit Client(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace deepinfer
