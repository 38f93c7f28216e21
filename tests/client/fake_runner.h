// A Runner that computes nothing: every request ends after one step with a text made of its prompt.
//
// Prompts with a meaning: "refuse" is refused when it is submitted, "refuse later" in the step that
// comes to it, "fault" ends with an error, "cancelled" and "deadline" end as they say, "length" is cut.
// A FakeScript makes it behave as a daemon that is full, drains, or goes away.
// Threads:  confined to one thread
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/cli/runner.h"

namespace deepinfer::cli {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct FakeScript {
  std::int64_t per_step = 1;           // requests that end in one step
  std::int64_t room = kNever;          // accepted at once; more are refused later: over_capacity
  std::int64_t refusals_first = 0;     // so many are refused before any is accepted: over_capacity
  std::int64_t drains_after = kNever;  // accepted, then refused later: draining
  std::int64_t goes_away_after = kNever;  // ended, then everything is lost
  bool is_silent = false;                 // nothing ends
};

// What a FakeRunner was asked; outlives it.
struct FakeLog {
  std::vector<std::string> submitted;  // custom_ids, in order
  std::int64_t submissions = 0;        // those that were refused and came again included
  std::vector<RequestHandle> cancelled;
  std::size_t most_in_flight = 0;
  bool is_finished = false;
  std::int64_t stats_asked = 0;
};

class FakeRunner final : public Runner {
 public:
  FakeRunner(const FakeScript& script, RunnerFacts facts, FakeLog& log)
      : script_(script), facts_(std::move(facts)), log_(log) {}

  Submitted submit(const Request& request, RunnerSink& sink) override {
    if (is_gone_) return Lost{};
    ++log_.submissions;
    const std::string text = text_of(request);
    if (text == "refuse") {
      log_.submitted.push_back(request.custom_id);
      return RequestError{"prompt_too_long", "prompt of 9 tokens, 8 fit", "/prompt"};
    }
    const RequestHandle handle{++last_handle_};
    queue_.push_back({handle, request, &sink, later_refusal(text)});
    if (!queue_.back().refusal) {
      ++accepted_;
      log_.submitted.push_back(request.custom_id);
    }
    log_.most_in_flight = std::max<std::size_t>(log_.most_in_flight, queue_.size());
    return handle;
  }

  bool cancel(RequestHandle request) override {
    log_.cancelled.push_back(request);
    return true;
  }

  StepOutcome step(std::chrono::milliseconds /*wait*/) override {
    if (queue_.empty()) return StepOutcome::kIdle;
    if (script_.is_silent) return StepOutcome::kWorked;
    ++stats_.steps;
    refuse_some();
    for (std::int64_t i = 0; i < script_.per_step && !queue_.empty(); ++i) {
      if (ended_ >= script_.goes_away_after) return go_away();
      const Queued next = std::move(queue_.front());
      queue_.pop_front();
      finish(next);
    }
    return StepOutcome::kWorked;
  }

  void finish() override { log_.is_finished = true; }
  [[nodiscard]] EngineStats stats() override {
    ++log_.stats_asked;
    return stats_;
  }
  [[nodiscard]] const RunnerFacts& facts() const override { return facts_; }

 private:
  struct Queued {
    RequestHandle handle{};
    Request request;
    RunnerSink* sink = nullptr;
    std::optional<RequestError> refusal;
  };

  static std::string text_of(const Request& request) {
    if (const auto* text = std::get_if<TextPrompt>(&request.prompt)) return text->text;
    if (const auto* chat = std::get_if<ChatPrompt>(&request.prompt)) return chat->messages;
    return "ids";
  }

  std::optional<RequestError> later_refusal(const std::string& text) {
    if (text == "refuse later") {
      return RequestError{"prompt_too_long", "prompt of 9 tokens, 8 fit", "/prompt"};
    }
    if (text == "of a cancelled job") {
      return RequestError{"job_cancelled", "job_1 was cancelled", ""};
    }
    if (accepted_ >= script_.drains_after) {
      return RequestError{"draining", "the daemon is draining and takes no new requests", ""};
    }
    const bool is_first = log_.submissions <= script_.refusals_first;
    if (is_first || accepted_ - ended_ >= script_.room) {
      return RequestError{"over_capacity", "2 requests have not ended, and 2 is the most", ""};
    }
    return std::nullopt;
  }

  static FinishReason reason_of(const std::string& text) {
    if (text == "fault") return FinishReason::kError;
    if (text == "cancelled") return FinishReason::kCancelled;
    if (text == "deadline") return FinishReason::kDeadline;
    return text == "length" ? FinishReason::kLength : FinishReason::kStop;
  }

  static Choice choice_of(const std::string& text, std::uint64_t seed) {
    Choice choice;
    choice.reason = reason_of(text);
    choice.text = "answer to " + text;
    choice.content = choice.text;
    choice.tokens = {7, 8, 1};
    choice.seed = seed;
    if (choice.reason == FinishReason::kError) {
      choice.error = RequestError{"model_fault", "logits are not finite at step 5", ""};
    }
    return choice;
  }

  // Refusals are told first, as a daemon does.
  void refuse_some() {
    std::deque<Queued> accepted;
    for (Queued& queued : std::exchange(queue_, {})) {
      if (queued.refusal) {
        queued.sink->on_refused(queued.handle, *queued.refusal);
      } else {
        accepted.push_back(std::move(queued));
      }
    }
    queue_ = std::move(accepted);
  }

  StepOutcome go_away() {
    is_gone_ = true;
    for (const Queued& queued : std::exchange(queue_, {})) queued.sink->on_lost(queued.handle);
    return StepOutcome::kWorked;
  }

  void finish(const Queued& next) {
    ++ended_;
    const std::string text = text_of(next.request);
    for (std::int64_t i = 0; i < next.request.sampling.n; ++i) {
      next.sink->on_token({next.handle, i, 7, "answer ", std::nullopt, {}});
    }
    RequestResult result;
    result.request = next.handle;
    result.prompt_tokens = {0, 5};
    for (std::int64_t i = 0; i < next.request.sampling.n; ++i) {
      result.choices.push_back(choice_of(text, static_cast<std::uint64_t>(i)));
    }
    next.sink->on_finished(std::move(result));
  }

  FakeScript script_;
  RunnerFacts facts_;
  FakeLog& log_;
  std::uint64_t last_handle_ = 0;
  std::int64_t accepted_ = 0;
  std::int64_t ended_ = 0;
  bool is_gone_ = false;
  std::deque<Queued> queue_;
  EngineStats stats_;
};

}  // namespace deepinfer::cli
