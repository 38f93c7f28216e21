// What a command needs of an engine: the embedded one, the daemon's, a scripted one in tests.
//
// Threads:  confined to one thread
// Lifetime: a sink outlives the requests that were submitted with it, or the Runner
// Errors:   a refusal comes from submit() or later, to the sink; a request that is lost with its
//           daemon has no result, and may be submitted again to another
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <deepinfer/client.h>
#include <deepinfer/engine.h>

namespace deepinfer::cli {

// Exactly one of on_finished, on_refused and on_lost is the last call for each accepted handle.
using RunnerSink = ClientSink;

struct RunnerFacts {
  std::string model;              // the folder's name
  std::string where;              // for messages: "engine", or the daemon's socket
  std::size_t max_in_flight = 1;  // requests worth having submitted at once
  std::optional<JobId> job;       // what the daemon lists the requests under
  bool refuses_later = false;     // on_refused() may come, with a code that asks to try again
};

class Runner {
 public:
  struct Lost {  // there is no daemon any more that could take it
    std::string what = "the daemon went away";
  };
  using Submitted = std::variant<RequestHandle, RequestError, Lost>;

  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  // Unfinished requests are cancelled.
  virtual ~Runner() = default;

  [[nodiscard]] virtual Submitted submit(const Request& request, RunnerSink& sink) = 0;
  virtual bool cancel(RequestHandle request) = 0;
  // Calls the sinks. Where others do the work it waits at most `wait` for something to tell.
  virtual StepOutcome step(std::chrono::milliseconds wait) = 0;
  // No more requests will come.
  virtual void finish() = 0;
  // Of the engine since this Runner was opened, other clients' work included.
  [[nodiscard]] virtual EngineStats stats() = 0;
  [[nodiscard]] virtual const RunnerFacts& facts() const = 0;
};

// Null on failure, with the error filled.
using OpenEmbedded = std::function<std::unique_ptr<Runner>(const EngineOptions&, EngineError&)>;

// How a command uses the daemon.
struct DaemonSession {
  std::filesystem::path socket;   // empty: the default one
  std::string client;             // "deepinfer batch"
  std::optional<JobOptions> job;  // unset: its requests have no job of their own
  bool stream = false;            // whether sinks hear of tokens
};
using OpenDaemon = std::function<std::unique_ptr<Runner>(const DaemonSession&, ClientError&)>;

}  // namespace deepinfer::cli
