// The inference engine embedded in a process: open a checkpoint, submit requests, step, read tokens.
//
//   deepinfer::EngineError error;
//   auto engine = deepinfer::Engine::open({.model = "examples/models/nano"}, error);
//   deepinfer::Request request;
//   request.prompt = deepinfer::ChatPrompt{.messages = R"([{"role":"user","content":"Hello"}])"};
//   engine->submit(request, sink);
//   while (engine->step() == deepinfer::StepOutcome::kWorked) {}
//
// Results depend on the request alone: not on its neighbours, the order of arrival, the prefill
// chunks or the number of threads, bit for bit on one instruction set.
//
// Threads:  an Engine and its sinks are confined to one thread, the one that calls step(); prepare(),
//           encode() and model() may be called from any.
// Lifetime: a sink outlives the requests that were submitted with it; the Engine may be destroyed at
//           any time between two calls.
// Errors:   a problem of one request is a RequestError and harms no other; a problem of the engine
//           is an EngineError. Nothing throws.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <deepinfer/types.h>

namespace deepinfer {

// What is wrong with the engine as a whole. The number is the exit code of our programs.
enum class EngineFault : std::uint8_t {
  kNone = 0,
  kConfiguration = 2,  // an option is out of range or cannot be met
  kModel = 4,          // the checkpoint cannot be used
};

struct EngineError {
  EngineFault fault = EngineFault::kNone;
  std::string what;   // one lower-case clause
  std::string where;  // file, tensor or option
  std::string mend;   // how to mend it
  // Every problem, when there are several: each as "WHAT (WHERE): HOW TO MEND".
  std::vector<std::string> all;
};

// Which implementation of the operations runs: both meet the same contracts.
enum class Numerics : std::uint8_t { kFast, kReference };

struct EngineOptions {
  std::filesystem::path model{};  // checkpoint folder
  int threads = 0;                // worker threads, the caller's included; 0: half the processors
  std::int64_t max_context = 0;   // tokens, prompt and answer; 0: what the model allows
  std::int64_t max_sequences = 256;      // running at once
  std::int64_t max_batch_tokens = 4096;  // tokens of one step; >= max_sequences
  std::int64_t prefill_chunk = 512;      // most prompt tokens of one sequence in one step
  std::int64_t cache_bytes = 0;          // paged caches; 0: enough for max_sequences, within bounds
  std::uint64_t job_seed = 0;            // seeds of requests without one follow from it
  LogprobsMode logprobs_mode = LogprobsMode::kRaw;
  Numerics numerics = Numerics::kFast;
};

enum class StepOutcome : std::uint8_t {
  kWorked,  // something ran, or a request ended
  kIdle,    // nothing is queued or running
};

// A request that was checked and whose prompt was encoded, by the Engine that will run it.
struct PreparedRequest {
  Request request;
  std::vector<std::int32_t> prompt;  // token ids
};

class Engine {
 public:
  // Null on failure, with `error` filled. Maps the weights; reads them when they are first used.
  [[nodiscard]] static std::unique_ptr<Engine> open(const EngineOptions& options,
                                                    EngineError& error);

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  struct Submitted {
    RequestHandle request{};            // valid when error is not set
    std::optional<RequestError> error;  // refused: nothing was queued, the sink hears nothing
  };
  // Checks, encodes and queues. `sink` hears of it from step() on.
  [[nodiscard]] Submitted submit(const Request& request, Sink& sink);

  // The two halves of submit(), for a caller that encodes elsewhere than on the engine's thread.
  // prepare() may run on any thread, also while step() runs; nothing is queued by it.
  [[nodiscard]] std::variant<PreparedRequest, RequestError> prepare(Request request) const;
  [[nodiscard]] RequestHandle submit(const PreparedRequest& request, Sink& sink);

  // Ends a request at the next step with kCancelled and the text so far. False when it is unknown
  // or has ended.
  bool cancel(RequestHandle request);

  // Runs one step: schedules, computes, samples, delivers.
  StepOutcome step();

  // The prompt of a request as token ids, without queueing it.
  [[nodiscard]] std::variant<std::vector<std::int32_t>, RequestError> encode(
      const Request& request) const;

  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] const ModelFacts& model() const;

 private:
  struct Parts;
  explicit Engine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace deepinfer
