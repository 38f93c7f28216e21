// Damages good lines in every way that one byte allows, and many at random: the parser answers each
// with a request or with problems, never otherwise. The same entry point serves a fuzzer.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/batch_line_fuzz.h"

namespace deepinfer::cli {
namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> lines{
      R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"tools":[{"type":"function","function":{"name":"f"}}],"logprobs":true,"top_logprobs":2,"stop":["a"],"thinking":{"type":"enabled"},"reasoning_effort":"low"}})",
      R"({"custom_id":"b","prompt_token_ids":[0,1,2],"priority":-1,"deadline":"2027-01-31T08:00:00Z","sampling_params":{"temperature":0.5,"logit_bias":{"7":-1.5},"stop_token_ids":[1],"seed":18446744073709551615,"n":2}})",
  };
  return lines;
}

void feed(const std::string& text) {
  EXPECT_TRUE(line_is_handled(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()))
      << text;
}

TEST(LineMutation, EveryBytePutInEveryPlaceIsHandled) {
  for (const std::string& seed : seeds()) {
    for (std::size_t i = 0; i < seed.size(); ++i) {
      for (const char byte : {'\0', '"', '{', '}', '[', ',', '\\', '9', '\x80', '\xFF'}) {
        std::string text = seed;
        text[i] = byte;
        feed(text);
      }
    }
  }
}

TEST(LineMutation, EveryBeginningIsHandled) {
  for (const std::string& seed : seeds()) {
    for (std::size_t length = 0; length <= seed.size(); ++length) feed(seed.substr(0, length));
  }
}

TEST(LineMutation, RandomCutsAndCopiesAreHandled) {
  // A fixed seed: every run damages the same way.
  std::mt19937 random(20261130);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable on purpose
  for (int round = 0; round < 2000; ++round) {
    std::string text = seeds()[random() % seeds().size()];
    for (int edit = 0; edit < 4; ++edit) {
      const std::size_t from = random() % text.size();
      const std::size_t length = random() % 12;
      const std::string piece = text.substr(from, length);
      if (random() % 2 == 0) text.erase(from, length);
      text.insert(random() % (text.size() + 1), piece);
      if (text.empty()) text = "{}";
    }
    feed(text);
  }
}

}  // namespace
}  // namespace deepinfer::cli
