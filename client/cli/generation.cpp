#include "client/cli/generation.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "client/cli/daemon_error.h"
#include "client/cli/messages.h"
#include "client/cli/record.h"
#include "client/cli/response_parts.h"

namespace deepinfer::cli {
namespace {

// "/sampling_params/top_p" -> "--top-p", "/messages/0/role" stays.
std::string flag_of(const std::string& pointer) {
  constexpr std::string_view kParams = "/sampling_params/";
  if (pointer.empty()) return "request";
  if (!pointer.starts_with(kParams)) return pointer;
  std::string flag = "--" + pointer.substr(kParams.size());
  for (char& letter : flag) {
    if (letter == '_') letter = '-';
  }
  return flag;
}

// How long the text so far of a cancelled request is waited for.
constexpr std::chrono::seconds kCancelWait{2};
// The longest wait for the daemon, so that a signal is noticed.
constexpr std::chrono::milliseconds kLongestWait{100};

// Prints the text of a single answer while it grows, and keeps how it ended.
class Answer final : public RunnerSink {
 public:
  Answer(std::ostream& out, bool is_streamed) : out_(out), is_streamed_(is_streamed) {}

  void on_token(const TokenEvent& event) override {
    if (!is_streamed_ || event.text.empty()) return;
    out_ << event.text << std::flush;
    streamed_ += event.text.size();
  }
  void on_finished(RequestResult result) override { result_ = std::move(result); }
  void on_refused(RequestHandle /*request*/, const RequestError& error) override {
    refusal_ = error;
  }
  void on_lost(RequestHandle /*request*/) override { is_lost_ = true; }

  // Takes what submit() has said; the handle when more is to come.
  std::optional<RequestHandle> begin(const Runner::Submitted& submitted) {
    if (const auto* error = std::get_if<RequestError>(&submitted)) refusal_ = *error;
    if (std::holds_alternative<Runner::Lost>(submitted)) is_lost_ = true;
    const auto* handle = std::get_if<RequestHandle>(&submitted);
    return handle == nullptr ? std::nullopt : std::optional(*handle);
  }

  [[nodiscard]] const std::optional<RequestResult>& result() const { return result_; }
  [[nodiscard]] const std::optional<RequestError>& refusal() const { return refusal_; }
  [[nodiscard]] bool is_lost() const { return is_lost_; }
  [[nodiscard]] bool has_ended() const { return result_ || refusal_ || is_lost_; }

  // What has not been printed yet.
  void print_rest() {
    const auto& choices = result_->choices;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const std::string& text = choices[i].text;
      if (choices.size() > 1) out_ << "[" << i << "] ";
      if (is_streamed_) {
        out_ << text.substr(std::min(streamed_, text.size()));
      } else {
        out_ << text;
      }
      out_ << '\n';
    }
    out_ << std::flush;
  }
  // Without a result: a message must not stand behind the text.
  void end_line() {
    if (streamed_ > 0) out_ << '\n' << std::flush;
  }

 private:
  std::ostream& out_;
  bool is_streamed_;
  std::size_t streamed_ = 0;  // bytes
  std::optional<RequestResult> result_;
  std::optional<RequestError> refusal_;
  bool is_lost_ = false;
};

// The number of a signal that ended it, or 0. After a signal the text so far is waited for, but not
// longer than it should take, and not after a second one.
int step_until_done(Runner& runner, RequestHandle request, const Answer& answer,
                    const CommandContext& context) {
  int signal = 0;
  Clock::TimePoint give_up{};
  while (!answer.has_ended()) {
    if (const int number = context.stop_signal(); number != 0) {
      if (signal != 0) return signal;
      signal = number;
      give_up = context.clock.now() + kCancelWait;
      runner.cancel(request);
    }
    if (runner.step(kLongestWait) == StepOutcome::kIdle) break;
    if (signal != 0 && context.clock.now() >= give_up) break;
  }
  return signal;
}

// A request that was not run, or whose daemon is gone.
int report_no_answer(const Answer& answer, const std::string& where,
                     const CommandContext& context) {
  if (answer.is_lost()) {
    print_error(context.err, config::to_line({"the daemon went away before the answer was complete",
                                              where, "start it, then run the command again"}));
    return kExitNoDaemon;
  }
  if (!answer.refusal()) {
    print_error(context.err, "the engine is idle without an answer (" + where + "): report this");
    return kExitSomeFailed;
  }
  const RequestError& error = *answer.refusal();
  if (kind_of_refusal(error.code) == RefusalKind::kRequest) {
    print_error(context.err, config::to_line({error.message, error.code,
                                              "see docs/reference/errors.md for this code"}));
    return kExitSomeFailed;
  }
  print_error(context.err,
              config::to_line({error.code + ": " + error.message, where, "try again later"}));
  return kExitRefused;
}

int report_failure(const RequestResult& result, const CommandContext& context) {
  for (const Choice& choice : result.choices) {
    if (choice.reason != FinishReason::kError) continue;
    const std::string message = choice.error ? choice.error->message : "the engine gave no reason";
    const std::string code = choice.error ? choice.error->code : "model_fault";
    print_error(context.err,
                config::to_line({message, code, "see docs/reference/errors.md for this code"}));
    return kExitSomeFailed;
  }
  return kExitDone;
}

}  // namespace

int generate(const BatchLine& line, const Place& place, bool is_json,
             const CommandContext& context) {
  for (const FieldProblem& problem : line.problems) {
    print_error(context.err, config::to_line({problem.message, flag_of(problem.param),
                                              "see deepinfer generate --help"}));
  }
  if (!line.problems.empty()) return kExitUsage;
  const bool is_streamed = !is_json && line.request.sampling.n == 1;
  int exit_code = kExitUsage;
  const auto runner =
      open_runner(place, {{}, "deepinfer generate", std::nullopt, is_streamed}, context, exit_code);
  if (!runner) return exit_code;
  Answer answer(context.out, is_streamed);
  int signal = 0;
  if (const auto request = answer.begin(runner->submit(line.request, answer))) {
    signal = step_until_done(*runner, *request, answer, context);
  }
  if (!answer.result()) {
    answer.end_line();
    return signal != 0 ? kExitSignal + signal
                       : report_no_answer(answer, runner->facts().where, context);
  }
  if (is_json) {
    const ResponseFacts facts{runner->facts().model, context.calendar()};
    const auto body = response_body(context_of(line), *answer.result(), facts);
    context.out << to_text(body) << '\n' << std::flush;
  } else {
    answer.print_rest();
  }
  return signal != 0 ? kExitSignal + signal : report_failure(*answer.result(), context);
}

}  // namespace deepinfer::cli
