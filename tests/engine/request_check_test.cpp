// Every parameter's range, and that the first problem is named with its pointer.
#include "engine/request_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace deepinfer::engine {
namespace {

struct Bad {
  const char* pointer;
  std::function<void(SamplingParams&)> set;
};

TEST(RequestCheck, TakesTheDefaults) {
  EXPECT_FALSE(check_sampling(SamplingParams{}, 100).has_value());
}

TEST(RequestCheck, NamesTheParameterThatIsImpossible) {
  const std::vector<Bad> all = {
      {"/max_tokens", [](SamplingParams& p) { p.max_tokens = 0; }},
      {"/max_tokens", [](SamplingParams& p) { p.max_tokens = -1; }},
      {"/min_tokens", [](SamplingParams& p) { p.min_tokens = -1; }},
      {"/min_tokens",
       [](SamplingParams& p) {
         p.max_tokens = 3;
         p.min_tokens = 4;
       }},
      {"/temperature", [](SamplingParams& p) { p.temperature = -0.1; }},
      {"/temperature", [](SamplingParams& p) { p.temperature = NAN; }},
      {"/top_p", [](SamplingParams& p) { p.top_p = 0; }},
      {"/top_p", [](SamplingParams& p) { p.top_p = 1.01; }},
      {"/top_k", [](SamplingParams& p) { p.top_k = -1; }},
      {"/min_p", [](SamplingParams& p) { p.min_p = 1; }},
      {"/presence_penalty", [](SamplingParams& p) { p.presence_penalty = 2.1; }},
      {"/frequency_penalty", [](SamplingParams& p) { p.frequency_penalty = -2.1; }},
      {"/repetition_penalty", [](SamplingParams& p) { p.repetition_penalty = 0; }},
      {"/logit_bias/100",
       [](SamplingParams& p) {
         p.logit_bias = {{100, 1}};
       }},
      {"/logit_bias/5",
       [](SamplingParams& p) {
         p.logit_bias = {{5, 101}};
       }},
      {"/stop_token_ids/1",
       [](SamplingParams& p) {
         p.stop_token_ids = {5, -1};
       }},
      {"/stop/0", [](SamplingParams& p) { p.stop = {""}; }},
      {"/n", [](SamplingParams& p) { p.n = 0; }},
      {"/n", [](SamplingParams& p) { p.n = 129; }},
      {"/logprobs", [](SamplingParams& p) { p.logprobs = 1001; }},
  };
  for (const Bad& bad : all) {
    SamplingParams params;
    bad.set(params);
    const auto error = check_sampling(params, 100);
    ASSERT_TRUE(error.has_value()) << bad.pointer;
    EXPECT_EQ(error->param, bad.pointer) << error->message;
    EXPECT_EQ(error->code, "invalid_value");
  }
}

}  // namespace
}  // namespace deepinfer::engine
