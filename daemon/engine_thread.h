// The thread that drives the engine: commands in by one queue, events out by another.
//
// It opens the model, steps while there is work, and sleeps on a word while there is none. A command or an
// event is a plain value; nothing of a session is touched here, so a session can end at any time.
// Threads:  post(), prepare() and the rest from the loop's thread and libuv's pool; `notify` is called on
//           the engine's thread
// Lifetime: the destructor stops after the current step and joins
// Errors:   a model that cannot be opened is an event; the thread then waits to be stopped
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include <deepinfer/engine.h>

#include "daemon/message_queue.h"
#include "daemon/model_engine.h"

namespace deepinfer::daemon {

// A request as the daemon counts them, from 1 on; never used twice in one run.
enum class Ticket : std::uint64_t {};

struct AdmitCommand {
  Ticket ticket{};
  PreparedRequest request;
  bool stream = false;  // TokenProduced events are wanted
};
struct CancelCommand {
  Ticket ticket{};
};
using EngineCommand = std::variant<AdmitCommand, CancelCommand>;

struct ModelOpened {
  ModelFacts model;
};
struct ModelFailed {
  EngineError error;
};
struct TokenProduced {
  Ticket ticket{};
  TokenEvent token;
};
struct RequestFinished {
  Ticket ticket{};
  RequestResult result;
};
using EngineEvent = std::variant<ModelOpened, ModelFailed, TokenProduced, RequestFinished>;

// What one step has produced.
struct EngineReport {
  std::vector<EngineEvent> events;
  EngineStats stats;
};

class EngineThread final : private Sink {
 public:
  EngineThread(OpenModel open, std::function<void()> notify);
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;
  ~EngineThread() override;

  void post(std::vector<EngineCommand> commands);
  // Reports since the last call, oldest first.
  [[nodiscard]] std::vector<EngineReport> take_reports() { return reports_.take_all(); }
  // Grows while the thread moves; for a watchdog.
  [[nodiscard]] std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }
  // Engine::prepare; once ModelOpened has been seen.
  [[nodiscard]] std::variant<PreparedRequest, RequestError> prepare(Request request) const {
    return engine_->prepare(std::move(request));
  }

 private:
  void run();
  void serve();
  void take_commands();
  void apply(const AdmitCommand& command);
  void apply(const CancelCommand& command);
  void report();

  void on_token(const TokenEvent& event) override;
  void on_finished(RequestResult result) override;

  struct Running {
    Ticket ticket{};
    bool stream = false;
  };

  const OpenModel open_;
  const std::function<void()> notify_;
  MessageQueue<std::vector<EngineCommand>> commands_;
  MessageQueue<EngineReport> reports_;
  // Grows with every post and at the end: release by post(), acquire by serve().
  std::atomic<std::uint32_t> posted_{0};
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> progress_{0};

  // Written before ModelOpened is reported, then constant.
  std::unique_ptr<ModelEngine> engine_;
  // The engine's thread only.
  std::unordered_map<std::uint64_t, Running> by_handle_;
  std::unordered_map<std::uint64_t, RequestHandle> by_ticket_;
  std::vector<EngineEvent> events_;

  std::thread thread_;  // last: it uses everything above
};

}  // namespace deepinfer::daemon
