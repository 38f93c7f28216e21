// An engine that answers by script: no model, no arithmetic, ready in no time.
//
// Every request gets one token a step until max_tokens (4 where it says nothing); its text is "t0 t1 ...".
// A prompt "refuse" is refused, "hold" makes no progress until it is cancelled or release() is called.
// Threads:  as ModelEngine; release() from any thread
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/model_engine.h"

namespace deepinfer::test {

class FakeEngine final : public daemon::ModelEngine {
 public:
  explicit FakeEngine(std::atomic<bool>* released = nullptr) : released_(released) {}

  [[nodiscard]] std::variant<PreparedRequest, RequestError> prepare(
      Request request) const override {
    const std::string text = text_of(request);
    if (text == "refuse") return RequestError{"invalid_value", "refused by the script", "/prompt"};
    std::vector<std::int32_t> ids(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) ids[i] = static_cast<unsigned char>(text[i]);
    return PreparedRequest{std::move(request), std::move(ids)};
  }

  [[nodiscard]] RequestHandle submit(const PreparedRequest& request, Sink& sink) override {
    const RequestHandle handle{next_++};
    Running running{&sink, request, {}, false};
    running.result.request = handle;
    running.result.prompt_tokens = running.request.prompt;
    running.result.choices.resize(1);
    running_.emplace(handle, std::move(running));
    return handle;
  }

  bool cancel(RequestHandle request) override {
    const auto found = running_.find(request);
    if (found == running_.end()) return false;
    found->second.is_cancelled = true;
    return true;
  }

  StepOutcome step() override {
    bool has_worked = false;
    for (auto next = running_.begin(); next != running_.end();) {
      Running& one = next->second;
      if (one.is_cancelled) {
        one.result.choices[0].reason = FinishReason::kCancelled;
        has_worked = true;
      } else if (is_held(one)) {
        ++next;
        continue;
      } else {
        has_worked = true;
        if (!produce(one)) {
          ++next;
          continue;
        }
      }
      RequestResult result = std::move(one.result);
      Sink& sink = *one.sink;
      next = running_.erase(next);
      sink.on_finished(std::move(result));
    }
    ++stats_.steps;
    return has_worked ? StepOutcome::kWorked : StepOutcome::kIdle;
  }

  [[nodiscard]] EngineStats stats() const override { return stats_; }
  [[nodiscard]] const ModelFacts& model() const override { return model_; }

 private:
  struct Running {
    Sink* sink;
    PreparedRequest request;
    RequestResult result;
    bool is_cancelled;
  };

  static std::string text_of(const Request& request) {
    const auto* text = std::get_if<TextPrompt>(&request.prompt);
    return text == nullptr ? std::string() : text->text;
  }
  [[nodiscard]] bool is_held(const Running& one) const {
    return text_of(one.request.request) == "hold" && (released_ == nullptr || !released_->load());
  }

  // One token more; true with the last one.
  bool produce(Running& one) {
    Choice& choice = one.result.choices[0];
    TokenEvent event;
    event.request = one.result.request;
    event.token = static_cast<std::int32_t>(choice.tokens.size());
    event.text = "t" + std::to_string(event.token) + " ";
    choice.tokens.push_back(event.token);
    choice.text += event.text;
    ++stats_.decode_tokens;
    one.sink->on_token(event);
    const std::int64_t most = one.request.request.sampling.max_tokens.value_or(4);
    choice.reason = FinishReason::kLength;
    return static_cast<std::int64_t>(choice.tokens.size()) >= most;
  }

  std::atomic<bool>* released_;
  std::map<RequestHandle, Running> running_;
  std::uint64_t next_ = 1;
  EngineStats stats_;
  ModelFacts model_{"fake", 256, 4096, 0, 1};
};

}  // namespace deepinfer::test
