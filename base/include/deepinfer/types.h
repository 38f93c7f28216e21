// The values that the embedded engine and the daemon's client share: requests, answers, facts.
//
// Included by <deepinfer/engine.h> and <deepinfer/client.h>; there is no need to include it by itself.
// Threads:  plain values; a Sink is called as the header that takes it says
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace deepinfer {

enum class LogprobsMode : std::uint8_t {
  kRaw,        // log-softmax of the unmasked logits at temperature 1
  kProcessed,  // of the distribution that is drawn from; floor -9999
};

// How the tokens of an answer are chosen. The order of the operations is docs/reference/sampling.md.
struct SamplingParams {
  std::optional<std::int64_t> max_tokens;     // > 0; unset: what is left of the context
  std::int64_t min_tokens = 0;                // no end token before so many
  double temperature = 1.0;                   // >= 0; below 1e-5: the greatest logit, lowest id
  double top_p = 1.0;                         // (0, 1]
  std::int64_t top_k = 0;                     // 0: all
  double min_p = 0.0;                         // [0, 1)
  double presence_penalty = 0.0;              // [-2, 2]
  double frequency_penalty = 0.0;             // [-2, 2]
  double repetition_penalty = 1.0;            // > 0
  std::map<std::int32_t, double> logit_bias;  // token id -> [-100, 100]
  std::optional<std::uint64_t> seed;          // unset: H(job seed, custom_id, choice)
  std::vector<std::string> stop;              // none empty
  std::vector<std::int32_t> stop_token_ids;
  bool include_stop_str_in_output = false;
  bool ignore_eos = false;
  bool skip_special_tokens = true;
  std::int64_t n = 1;                    // choices, 1 .. 128
  std::optional<std::int64_t> logprobs;  // most likely tokens listed with each token, 0 .. 1000
  std::optional<LogprobsMode> logprobs_mode;  // unset: the engine's
};

// Raw text: control tokens are recognised; BOS is put in front unless it is there.
struct TextPrompt {
  std::string text;
};
// Taken as they are.
struct TokenPrompt {
  std::vector<std::int32_t> ids;
};
// A chat, as JSON text. Spellings of control tokens inside it stay text.
struct ChatPrompt {
  std::string messages{};         // a JSON array
  std::string tools{};            // a JSON array, or empty
  std::string response_format{};  // the bare JSON schema to show in the prompt, or empty
  bool thinking = true;
  std::int64_t reasoning_effort = 75;  // 1 .. 100
};

struct Request {
  std::variant<TextPrompt, TokenPrompt, ChatPrompt> prompt;
  SamplingParams sampling;
  std::string custom_id;      // names the request in its default seeds; may be empty
  std::int64_t priority = 0;  // lower first
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<std::uint64_t> job_seed;  // of default seeds; unset: the engine's
};

enum class RequestHandle : std::uint64_t {};

// Codes are those of docs/reference/errors.md.
struct RequestError {
  std::string code;     // "prompt_too_long", "invalid_value", ...
  std::string message;  // one lower-case clause with the offending values
  std::string param;    // JSON pointer into the request's body, or empty
};

enum class FinishReason : std::uint8_t {
  kStop,
  kToolCalls,
  kLength,
  kCancelled,
  kDeadline,
  kError
};
// As it is written in records: "stop", "tool_calls", "length", "cancelled", "deadline", "error".
[[nodiscard]] constexpr const char* name_of(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kToolCalls:
      return "tool_calls";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kDeadline:
      return "deadline";
    case FinishReason::kError:
      break;
  }
  return "error";
}

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0;
  std::string text;  // the bytes of the token
};

// One token of one choice, as it is produced.
struct TokenEvent {
  RequestHandle request{};
  std::int64_t choice = 0;
  std::int32_t token = 0;
  std::string text;  // what became deliverable with it; may be empty while text is held back
  std::optional<TokenLogprob> logprob;
  std::vector<TokenLogprob> top_logprobs;  // falling
};

struct ToolCallText {
  std::string name;
  std::string arguments;  // JSON text
};

struct Choice {
  FinishReason reason = FinishReason::kError;
  std::string text;                  // without the end token
  std::vector<std::int32_t> tokens;  // every token produced, the end token included
  std::uint64_t seed = 0;
  // What ended it: a stop string, a stop token, or neither (end token, length).
  std::optional<std::string> stop_string;
  std::optional<std::int32_t> stop_token;
  std::vector<TokenLogprob> logprobs;  // one for each of tokens, when asked for
  std::vector<std::vector<TokenLogprob>> top_logprobs;
  std::optional<RequestError> error;  // with kError
  // Of a chat: the parsed turn.
  std::string content;
  std::optional<std::string> reasoning_content;  // with thinking
  std::vector<ToolCallText> tool_calls;
  std::int64_t reasoning_tokens = 0;  // of tokens, those before and with </think>
};

struct RequestResult {
  RequestHandle request{};
  std::vector<std::int32_t> prompt_tokens;
  std::vector<Choice> choices;  // n of them, in order
};

// Where answers go. Calls come from inside step(); from submit() and cancel() never.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual void on_token(const TokenEvent& event) = 0;
  // Exactly once for each accepted request, whatever ended it.
  virtual void on_finished(RequestResult result) = 0;
};

struct EngineStats {
  std::int64_t steps = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t decode_tokens = 0;
  std::int64_t running = 0;  // sequences
  std::int64_t waiting = 0;
  std::int64_t preemptions = 0;
  std::int64_t cache_blocks_free = 0;
  std::int64_t cache_blocks = 0;
  std::chrono::nanoseconds prefill_time{0};  // of steps with prompt tokens
  std::chrono::nanoseconds decode_time{0};   // of the others
};

struct ModelFacts {
  std::string name;  // the folder's
  std::int64_t vocabulary = 0;
  std::int64_t max_context = 0;  // tokens, as enforced
  std::int64_t bos_token = 0;
  std::int64_t eos_token = 1;
};

}  // namespace deepinfer
