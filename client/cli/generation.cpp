#include "client/cli/generation.h"

#include <optional>
#include <utility>

#include "client/cli/embedded_options.h"
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

// Prints the text of a single answer while it grows, and keeps the result.
class Answer final : public Sink {
 public:
  Answer(std::ostream& out, bool is_streamed) : out_(out), is_streamed_(is_streamed) {}

  void on_token(const TokenEvent& event) override {
    if (!is_streamed_ || event.text.empty()) return;
    out_ << event.text << std::flush;
    streamed_ += event.text.size();
  }
  void on_finished(RequestResult result) override { result_ = std::move(result); }

  [[nodiscard]] const std::optional<RequestResult>& result() const { return result_; }

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

 private:
  std::ostream& out_;
  bool is_streamed_;
  std::size_t streamed_ = 0;  // bytes
  std::optional<RequestResult> result_;
};

// The number of a signal that ended it, or 0.
int step_until_done(Runner& runner, RequestHandle request, const Answer& answer,
                    const CommandContext& context) {
  int signal = 0;
  while (!answer.result()) {
    if (const int number = context.stop_signal(); number != 0) {
      signal = number;
      runner.cancel(request);
    }
    if (runner.step() == StepOutcome::kIdle) break;
  }
  return signal;
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

int generate(const BatchLine& line, const EngineOptions& options, bool is_json,
             const CommandContext& context) {
  for (const FieldProblem& problem : line.problems) {
    print_error(context.err, config::to_line({problem.message, flag_of(problem.param),
                                              "see deepinfer generate --help"}));
  }
  if (!line.problems.empty()) return kExitUsage;
  int exit_code = kExitUsage;
  const auto runner = open_runner(options, context, exit_code);
  if (!runner) return exit_code;
  const RecordContext record = context_of(line);
  Answer answer(context.out, !is_json && line.request.sampling.n == 1);
  const auto submitted = runner->submit(line.request, answer);
  if (submitted.error) {
    const RequestError& error = *submitted.error;
    print_error(context.err, config::to_line({error.message, error.code,
                                              "see docs/reference/errors.md for this code"}));
    return kExitSomeFailed;
  }
  const int signal = step_until_done(*runner, submitted.request, answer, context);
  if (!answer.result()) {
    print_error(context.err, "the engine is idle without an answer (engine): report this");
    return kExitSomeFailed;
  }
  if (is_json) {
    const ResponseFacts facts{runner->model().name, context.calendar()};
    context.out << to_text(response_body(record, *answer.result(), facts)) << '\n' << std::flush;
  } else {
    answer.print_rest();
  }
  return signal != 0 ? kExitSignal + signal : report_failure(*answer.result(), context);
}

}  // namespace deepinfer::cli
