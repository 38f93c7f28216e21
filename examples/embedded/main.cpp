// Asks a model two questions at once and prints each answer as it comes.
//
//   deepinfer_example_embedded MODEL_FOLDER
//
// Exit codes: 0 both answered, 1 a request failed, 2 wrong usage, 4 the model cannot be used.
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include <deepinfer/engine.h>

namespace {

// Prints one answer's text while it is produced. Both requests run in the same steps, so their tokens
// come in turns; each is a line of its own here.
class PrintingSink final : public deepinfer::Sink {
 public:
  explicit PrintingSink(std::string_view name) : name_(name) {}

  void on_token(const deepinfer::TokenEvent& event) override {
    std::cout << name_ << " += \"" << event.text << "\"\n" << std::flush;
  }

  void on_finished(deepinfer::RequestResult result) override {
    const deepinfer::Choice& choice = result.choices.front();
    has_failed_ = choice.reason == deepinfer::FinishReason::kError;
    std::cout << name_ << " = " << choice.content << " (" << name_of(choice.reason) << ", "
              << choice.tokens.size() << " tokens)\n";
  }

  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  std::string_view name_;
  bool has_failed_ = false;
};

deepinfer::Request question(const std::string& messages) {
  deepinfer::Request request;
  request.prompt = deepinfer::ChatPrompt{
      .messages = messages, .tools = "", .response_format = "", .thinking = false};
  request.sampling.temperature = 0;
  request.sampling.max_tokens = 64;
  return request;
}

bool is_accepted(const deepinfer::Engine::Submitted& submitted) {
  if (!submitted.error) return true;
  std::cerr << "refused: " << submitted.error->message << " (" << submitted.error->code << ")\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: deepinfer_example_embedded MODEL_FOLDER\n";
    return 2;
  }
  deepinfer::EngineOptions options;
  options.model = argv[1];
  deepinfer::EngineError error;
  const auto engine = deepinfer::Engine::open(options, error);
  if (!engine) {
    std::cerr << "error: " << error.what << " (" << error.where << "): " << error.mend << "\n";
    return static_cast<int>(error.fault);
  }

  PrintingSink capital("capital");
  PrintingSink record("record");
  const bool are_accepted =
      is_accepted(engine->submit(
          question(R"([{"role": "user", "content": "What is the capital of France?"}])"),
          capital)) &&
      is_accepted(engine->submit(
          question(
              R"([{"role": "user", "content": "Extract the person as JSON.\n\nMara Quill is a 34-year-old baker from Lisbon."}])"),
          record));
  if (!are_accepted) return 1;

  // The caller owns the loop: stop after any step, and nothing runs behind your back.
  while (engine->step() == deepinfer::StepOutcome::kWorked) {
  }

  const deepinfer::EngineStats stats = engine->stats();
  std::cout << stats.decode_tokens << " tokens in " << stats.steps << " steps\n";
  return capital.has_failed() || record.has_failed() ? 1 : 0;
}
