#include "ipc/codec.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/fuzz/message_samples.h"
#include "tests/ipc/shown.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

template <typename Message>
using Decoder = Result<Message> (*)(WordView);

template <typename Message>
void expect_round_trip(const Message& message, Decoder<Message> decode) {
  Words words(3, ~std::uint64_t{0});  // what was there before does not matter
  encode(message, words);

  const auto decoded = decode(words);

  ASSERT_OK(decoded);
  EXPECT_EQ(shown(*decoded), shown(message));
}

template <typename Message>
void expect_round_trips(const std::vector<Message>& messages, Decoder<Message> decode) {
  for (const Message& message : messages) expect_round_trip(message, decode);
}

TEST(Codec, SubmissionsArriveAsTheyWereSent) {
  expect_round_trips(samples::submits(), decode_submit);
}

TEST(Codec, ResultsArriveAsTheyWereSent) { expect_round_trips(samples::results(), decode_result); }

TEST(Codec, ErrorsArriveAsTheyWereSent) { expect_round_trips(samples::errors(), decode_error); }

TEST(Codec, TokensArriveAsTheyWereSent) { expect_round_trips(samples::tokens(), decode_token); }

TEST(Codec, HellosArriveAsTheyWereSent) {
  expect_round_trips(samples::hellos(), decode_hello);
  expect_round_trips(samples::hello_replies(), decode_hello_reply);
}

TEST(Codec, QuestionsAndRepliesArriveAsTheyWereSent) {
  expect_round_trips(samples::control_requests(), decode_control_request);
  expect_round_trips(samples::control_replies(), decode_control_reply);
}

TEST(Codec, SamplesCoverEveryQuestionAndEveryReply) {
  std::vector<bool> questions(std::variant_size_v<Question>);
  for (const auto& request : samples::control_requests()) {
    questions[request.question.index()] = true;
  }
  std::vector<bool> replies(std::variant_size_v<Reply>);
  for (const auto& reply : samples::control_replies()) replies[reply.reply.index()] = true;

  EXPECT_EQ(questions, std::vector<bool>(questions.size(), true));
  EXPECT_EQ(replies, std::vector<bool>(replies.size(), true));
}

TEST(Codec, EveryEnumeratorArrives) {
  for (int reason = 0; reason <= static_cast<int>(FinishReason::kError); ++reason) {
    RequestResult result;
    result.choices.resize(1);
    result.choices[0].reason = static_cast<FinishReason>(reason);
    expect_round_trip(result, decode_result);
  }
  for (int state = 0; state <= static_cast<int>(DaemonState::kStopping); ++state) {
    DaemonStatus status;
    status.state = static_cast<DaemonState>(state);
    expect_round_trip(ControlReply{1, status}, decode_control_reply);
  }
}

TEST(Codec, ABiasForEveryTokenArrives) {
  SubmitMessage message = samples::small_submit();
  for (std::int32_t token = 0; token < 65'000; ++token) {
    message.request.sampling.logit_bias.emplace_hint(message.request.sampling.logit_bias.end(),
                                                     token, 0.1 * token / 65'000 - 0.05);
  }
  expect_round_trip(message, decode_submit);
}

TEST(Codec, ManyStopStringsArrive) {
  SubmitMessage message = samples::small_submit();
  for (int i = 0; i < 5000; ++i) {
    message.request.sampling.stop.push_back(std::string(static_cast<std::size_t>(i % 20), 's'));
    message.request.sampling.stop_token_ids.push_back(i);
  }
  expect_round_trip(message, decode_submit);
}

TEST(Codec, AThousandLogprobsOfManyTokensArrive) {
  RequestResult result;
  Choice& choice = result.choices.emplace_back();
  for (int place = 0; place < 300; ++place) {
    auto& list = choice.top_logprobs.emplace_back();
    for (int i = 0; i < 1000; ++i) {
      list.push_back({.token = i,
                      .logprob = -0.01F * static_cast<float>(i),
                      .text = std::string(static_cast<std::size_t>(i % 5), 't')});
    }
    choice.logprobs.push_back(list.front());
    choice.tokens.push_back(place);
  }
  expect_round_trip(result, decode_result);
}

TEST(Codec, LongTextsOfAnyBytesArrive) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += static_cast<char>(i * 7 + i / 256);
  RequestResult result;
  result.choices.resize(128);
  result.choices[0].text = text;
  result.choices[127].content = text;
  expect_round_trip(result, decode_result);
}

TEST(Codec, AResultThatIsTooLargeSaysSo) {
  RequestResult result;
  result.request = RequestHandle{5};
  result.choices.resize(2);
  result.choices[1].seed = 77;
  result.choices[1].text = std::string(10'000, 't');
  Words words;

  encode(result, words, 5000);

  const auto decoded = decode_result(words);
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->request, RequestHandle{5});
  ASSERT_EQ(decoded->choices.size(), 2U);
  EXPECT_EQ(decoded->choices[1].reason, FinishReason::kError);
  EXPECT_EQ(decoded->choices[1].seed, 77U);
  ASSERT_TRUE(decoded->choices[1].error.has_value());
  EXPECT_EQ(decoded->choices[1].error->code, "result_too_large");
}

TEST(Codec, ASmallSubmissionFitsIntoItsSlot) {
  Words words;
  encode(samples::small_submit(), words);

  EXPECT_LE(words.size() * sizeof(std::uint64_t), kMaxInlineBytes / 2);
}

TEST(Codec, MemoryIsUsedAgain) {
  Words words;
  encode(samples::submits().back(), words);
  const std::uint64_t* const memory = words.data();

  encode(samples::small_submit(), words);

  EXPECT_EQ(words.data(), memory);
  expect_round_trip(samples::small_submit(), decode_submit);
}

TEST(Codec, TheSameMessageGivesTheSameWords) {
  Words first;
  encode(samples::submits().back(), first);
  Words second(1000, ~std::uint64_t{0});
  encode(samples::submits().back(), second);

  EXPECT_EQ(first, second);
}

TEST(Codec, AHelloIsWithinItsLimit) {
  for (const Words& words : samples::encoded(samples::hellos())) {
    EXPECT_LE(bytes_of(words).size(), std::size_t{512});
  }
}

TEST(Codec, BytesBecomeWords) {
  const Words words{0x0123456789abcdef, 7};

  const auto again = to_words(bytes_of(words));
  const auto none = to_words({});

  ASSERT_OK(again);
  EXPECT_EQ(*again, words);
  ASSERT_OK(none);
  EXPECT_TRUE(none->empty());
}

TEST(Codec, BytesThatAreNoWholeWordsAreRefused) {
  const std::vector<std::byte> bytes(24);
  for (const std::size_t size : {1U, 7U, 9U, 23U}) {
    EXPECT_FAILS(to_words({bytes.data(), size}), ErrorCode::kInvalidArgument);
  }
}

TEST(Codec, ACopyThatLiesElsewhereDecodes) {
  Words words;
  encode(samples::submits().back(), words);
  std::vector<std::byte> bytes(words.size() * sizeof(std::uint64_t) + 1);
  std::memcpy(bytes.data() + 1, words.data(), bytes.size() - 1);

  const auto copied = to_words({bytes.data() + 1, bytes.size() - 1});

  ASSERT_OK(copied);
  ASSERT_OK(decode_submit(*copied));
}

}  // namespace
}  // namespace deepinfer::ipc
