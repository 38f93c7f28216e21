#include "engine/request_check.h"

#include <cmath>
#include <string>

namespace deepinfer::engine {
namespace {

std::string show(double value) {
  std::string text = std::to_string(value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string show(std::int64_t value) { return std::to_string(value); }

// Collects the first problem; everything after it is ignored.
class Checks {
 public:
  // !(value >= low) also catches NaN.
  template <typename Number>
  void in_range(const char* name, Number value, Number low, Number high) {
    if (value >= low && value <= high) return;
    add(std::string("/") + name, std::string(name) + " is " + show(value) + ", allowed is " +
                                     show(low) + " to " + show(high));
  }
  void require(bool holds, const std::string& pointer, const std::string& message) {
    if (!holds) add(pointer, message);
  }
  [[nodiscard]] std::optional<RequestError> first() const { return first_; }

 private:
  void add(const std::string& pointer, const std::string& message) {
    if (!first_.has_value()) first_ = RequestError{"invalid_value", message, pointer};
  }
  std::optional<RequestError> first_;
};

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40U;
constexpr double kMostTemperature = 1e6;

void check_lengths(const SamplingParams& params, Checks& checks) {
  if (params.max_tokens.has_value()) {
    checks.in_range<std::int64_t>("max_tokens", *params.max_tokens, 1, kMostTokens);
    checks.require(params.min_tokens <= *params.max_tokens, "/min_tokens",
                   "min_tokens is " + show(params.min_tokens) + ", more than max_tokens " +
                       show(*params.max_tokens));
  }
  checks.in_range<std::int64_t>("min_tokens", params.min_tokens, 0, kMostTokens);
  checks.in_range<std::int64_t>("n", params.n, 1, 128);
  if (params.logprobs.has_value()) {
    checks.in_range<std::int64_t>("logprobs", *params.logprobs, 0, 1000);
  }
}

void check_distribution(const SamplingParams& params, Checks& checks) {
  checks.in_range("temperature", params.temperature, 0.0, kMostTemperature);
  checks.require(params.top_p > 0.0 && params.top_p <= 1.0, "/top_p",
                 "top_p is " + show(params.top_p) + ", allowed is above 0 to 1");
  checks.in_range<std::int64_t>("top_k", params.top_k, 0, kMostTokens);
  checks.require(params.min_p >= 0.0 && params.min_p < 1.0, "/min_p",
                 "min_p is " + show(params.min_p) + ", allowed is 0 to below 1");
  checks.in_range("presence_penalty", params.presence_penalty, -2.0, 2.0);
  checks.in_range("frequency_penalty", params.frequency_penalty, -2.0, 2.0);
  checks.require(params.repetition_penalty > 0.0 && params.repetition_penalty <= 1e6,
                 "/repetition_penalty",
                 "repetition_penalty is " + show(params.repetition_penalty) +
                     ", allowed is above 0 to 1000000");
}

void check_tokens(const SamplingParams& params, std::int64_t vocabulary, Checks& checks) {
  const auto known = [&](std::int64_t token) { return token >= 0 && token < vocabulary; };
  const std::string range = "0 to " + show(vocabulary - 1);
  for (const auto& [token, bias] : params.logit_bias) {
    const std::string pointer = "/logit_bias/" + std::to_string(token);
    checks.require(
        known(token), pointer,
        "token id " + std::to_string(token) + " is outside the vocabulary, allowed is " + range);
    checks.require(bias >= -100.0 && bias <= 100.0, pointer,
                   "the bias of token " + std::to_string(token) + " is " + show(bias) +
                       ", allowed is -100 to 100");
  }
  for (std::size_t i = 0; i < params.stop_token_ids.size(); ++i) {
    checks.require(known(params.stop_token_ids[i]), "/stop_token_ids/" + std::to_string(i),
                   "token id " + std::to_string(params.stop_token_ids[i]) +
                       " is outside the vocabulary, allowed is " + range);
  }
  for (std::size_t i = 0; i < params.stop.size(); ++i) {
    checks.require(!params.stop[i].empty(), "/stop/" + std::to_string(i), "a stop string is empty");
  }
}

}  // namespace

std::optional<RequestError> check_sampling(const SamplingParams& params, std::int64_t vocabulary) {
  Checks checks;
  check_lengths(params, checks);
  check_distribution(params, checks);
  check_tokens(params, vocabulary, checks);
  return checks.first();
}

}  // namespace deepinfer::engine
