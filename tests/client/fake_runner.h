// A Runner that computes nothing: every request ends after one step with a text made of its prompt.
//
// Prompts with a meaning: "refuse" is refused when it is submitted, "fault" ends with an error,
// "cancelled" and "deadline" end as they say, "length" is cut.
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/runner.h"

namespace deepinfer::cli {

class FakeRunner final : public Runner {
 public:
  // `per_step`: requests that end in one step.
  explicit FakeRunner(std::int64_t per_step = 1) : per_step_(per_step) { facts_.name = "fake"; }

  Engine::Submitted submit(const Request& request, Sink& sink) override {
    const std::string text = text_of(request);
    submitted.push_back(request.custom_id);
    requests.push_back(request);
    if (text == "refuse") {
      return {{}, RequestError{"prompt_too_long", "prompt of 9 tokens, 8 fit", "/prompt"}};
    }
    const RequestHandle handle{++last_handle_};
    queue_.push_back({handle, request, &sink});
    most_in_flight = std::max<std::size_t>(most_in_flight, queue_.size());
    return {handle, std::nullopt};
  }

  bool cancel(RequestHandle request) override {
    cancelled.push_back(request);
    return true;
  }

  StepOutcome step() override {
    if (queue_.empty()) return StepOutcome::kIdle;
    ++stats_.steps;
    for (std::int64_t i = 0; i < per_step_ && !queue_.empty(); ++i) {
      Queued next = std::move(queue_.front());
      queue_.pop_front();
      finish(next);
    }
    return StepOutcome::kWorked;
  }

  [[nodiscard]] EngineStats stats() const override { return stats_; }
  [[nodiscard]] const ModelFacts& model() const override { return facts_; }

  std::vector<std::string> submitted;  // custom_ids, in order
  std::vector<Request> requests;
  std::vector<RequestHandle> cancelled;
  std::size_t most_in_flight = 0;

 private:
  struct Queued {
    RequestHandle handle{};
    Request request;
    Sink* sink = nullptr;
  };

  static std::string text_of(const Request& request) {
    if (const auto* text = std::get_if<TextPrompt>(&request.prompt)) return text->text;
    if (const auto* chat = std::get_if<ChatPrompt>(&request.prompt)) return chat->messages;
    return "ids";
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

  void finish(const Queued& next) {
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

  std::int64_t per_step_;
  std::uint64_t last_handle_ = 0;
  std::deque<Queued> queue_;
  EngineStats stats_;
  ModelFacts facts_;
};

}  // namespace deepinfer::cli
