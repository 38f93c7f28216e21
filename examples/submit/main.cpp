// Sends a few chats to a running deepinferd at once, and prints the first answer as it comes.
//
//   deepinfer_example_submit [SOCKET]
//
// Exit codes: 0 all answered, 1 a request failed, 2 wrong usage, 3 no daemon, or it went away, 5 refused.
#include <algorithm>
#include <chrono>
#include <deque>
#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <deepinfer/client.h>

namespace {

// Called inside deliver(), by the one thread that is there. Whatever happens to a request, one of the last three
// functions is called for it.
class PrintingSink final : public deepinfer::ClientSink {
 public:
  explicit PrintingSink(std::string name) : name_(std::move(name)) {}

  void on_token(const deepinfer::TokenEvent& event) override {
    std::cout << name_ << " += \"" << event.text << "\"\n" << std::flush;
  }

  void on_finished(deepinfer::RequestResult result) override {
    const deepinfer::Choice& choice = result.choices.front();
    if (choice.reason == deepinfer::FinishReason::kError) exit_code_ = 1;
    std::cout << name_ << " = " << choice.content << " (" << name_of(choice.reason) << ", "
              << choice.tokens.size() << " tokens)\n";
  }

  void on_refused(deepinfer::RequestHandle /*request*/,
                  const deepinfer::RequestError& error) override {
    exit_code_ = error.code == "draining" || error.code == "over_capacity" ? 5 : 1;
    std::cerr << name_ << " refused: " << error.message << " (" << error.code << ")\n";
  }

  void on_lost(deepinfer::RequestHandle /*request*/) override {
    exit_code_ = 3;
    std::cerr << name_ << " lost: the daemon went away; submit it again\n";
  }

  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  std::string name_;
  int exit_code_ = 0;
};

deepinfer::Request chat(const std::string& question) {
  deepinfer::Request request;
  // The questions below need no escaping; a program with a JSON library would use it here.
  request.prompt = deepinfer::ChatPrompt{
      .messages = R"([{"role": "user", "content": ")" + question + R"("}])", .thinking = false};
  request.sampling.temperature = 0;
  request.sampling.max_tokens = 64;
  return request;
}

int report(const deepinfer::ClientError& error) {
  std::cerr << "error: " << error.what << " (" << error.where << "): " << error.mend << "\n";
  return static_cast<int>(error.fault);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::cerr << "usage: deepinfer_example_submit [SOCKET]\n";
    return 2;
  }
  deepinfer::ClientOptions options;
  if (argc == 2) options.socket = argv[1];
  deepinfer::ClientError error;
  const auto client = deepinfer::Client::connect(options, error);
  if (!client) return report(error);
  std::cout << "connected to a daemon with the model " << client->model().name << "\n";

  const std::vector<std::string> questions = {
      "What is the capital of France?",
      "Extract the person as JSON.\\n\\nMara Quill is a 34-year-old baker from Lisbon.",
      "What is the capital of Japan?",
  };
  std::deque<PrintingSink> sinks;  // a sink stays where it is until its request has ended
  for (std::size_t i = 0; i < questions.size(); ++i) {
    PrintingSink& sink = sinks.emplace_back("answer " + std::to_string(i + 1));
    const auto submitted = client->submit(chat(questions[i]), sink, {.stream = i == 0});
    if (submitted.error) return report(*submitted.error);
  }
  while (client->unfinished() > 0) client->deliver(std::chrono::seconds(1));

  int exit_code = 0;
  for (const PrintingSink& sink : sinks) exit_code = std::max(exit_code, sink.exit_code());
  return exit_code;
}
