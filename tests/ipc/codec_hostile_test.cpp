// Messages that no encoder of ours writes: damaged, made to cost much, out of range, and newer than this.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ipc/codec.h"
#include "tests/fuzz/descriptor_fuzz.h"
#include "tests/fuzz/message_samples.h"
#include "tests/ipc/shown.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

// ---- pointers of Cap'n Proto, by hand ----

constexpr std::uint64_t kMostElements = (1ULL << 29U) - 1;

std::uint64_t struct_pointer(std::int32_t offset, std::uint64_t data, std::uint64_t pointers) {
  const auto low = static_cast<std::uint32_t>(offset) << 2U;
  return low | data << 32U | pointers << 48U;
}

// `size`: 0 void, 1 bit, 2 byte, 3 two, 4 four, 5 eight, 6 pointer, 7 structs (then `count` is words).
std::uint64_t list_pointer(std::int32_t offset, std::uint64_t size, std::uint64_t count) {
  const auto low = static_cast<std::uint32_t>(offset) << 2U | 1U;
  return low | size << 32U | count << 35U;
}

std::uint64_t far_pointer(std::uint64_t word, std::uint64_t segment, bool is_double) {
  return 2U | (is_double ? 4U : 0U) | word << 3U | segment << 32U;
}

using Handled = bool (*)(const std::uint8_t*, std::size_t);

bool is_handled(Handled handled, const Words& words) {
  return handled(reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 8);
}

// Every message that somebody else may send, by who reads it.
struct Corpus {
  Handled handled;
  std::vector<Words> messages;
};

void add(std::vector<Words>& all, std::vector<Words> more) {
  all.insert(all.end(), more.begin(), more.end());
}

const std::vector<Corpus>& corpora() {
  static const std::vector<Corpus> all = [] {
    using samples::encoded;
    std::vector<Corpus> list{{submit_is_handled, encoded(samples::submits())},
                             {datagram_is_handled, encoded(samples::hellos())},
                             {answer_is_handled, encoded(samples::results())}};
    add(list[1].messages, encoded(samples::control_requests()));
    add(list[2].messages, encoded(samples::errors()));
    add(list[2].messages, encoded(samples::tokens()));
    add(list[2].messages, encoded(samples::hello_replies()));
    add(list[2].messages, encoded(samples::control_replies()));
    return list;
  }();
  return all;
}

// ---- what costs much ----

// Each would be seconds of walking or gigabytes of memory if it were believed.
std::vector<Words> amplifiers() {
  // A result's choices are the second of two pointers; a submission's sampling the second of three.
  const std::uint64_t result = struct_pointer(0, 0, 2);
  std::vector<Words> all{// 32 bytes: as many structs without fields as can be counted.
                         {result, 0, list_pointer(0, 7, 0), struct_pointer(kMostElements, 0, 0)},
                         {result, 0, list_pointer(0, 7, 0), struct_pointer(-1, 0, 0)},
                         // Structs with fields, but not there.
                         {result, 0, list_pointer(0, 7, 0), struct_pointer(kMostElements, 1, 1)},
                         // Voids and bits as structs.
                         {result, 0, list_pointer(-1, 0, kMostElements)},
                         {result, 0, list_pointer(-1, 1, kMostElements)},
                         // A root without end.
                         {struct_pointer(0, 0xFFFF, 0xFFFF)},
                         {struct_pointer(-1, 0xFFFF, 0xFFFF), 0}};
  return all;
}

TEST(CodecHostile, MessagesThatClaimMuchAreRefusedAtOnce) {
  const auto begun = std::chrono::steady_clock::now();
  for (const Words& words : amplifiers()) {
    for (int again = 0; again < 100; ++again) {
      EXPECT_FAILS(decode_result(words), ErrorCode::kInvalidArgument);
    }
  }
  // One that is walked takes seconds: this notices it on the slowest machine.
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
}

TEST(CodecHostile, StopsWithoutEndAreRefused) {
  Words words{struct_pointer(0, 0, 3), 0, struct_pointer(1, 0, 3), 0, 0, 0, 0};
  // sampling's stop strings are its third pointer
  for (const std::uint64_t size : {0U, 1U, 6U, 7U}) {
    words[6] = list_pointer(0, size, size == 7 ? 0 : kMostElements);
    EXPECT_FAILS(decode_submit(words), ErrorCode::kInvalidArgument);
  }
}

TEST(CodecHostile, MetadataWithoutEndIsRefused) {
  Words words;
  encode(ControlRequest{1, OpenJob{}}, words);
  ASSERT_OK(decode_control_request(words));
  int refused = 0;
  for (std::uint64_t& word : words) {
    if ((word & 3U) != 1U) continue;
    const std::uint64_t before = word;
    word = list_pointer(0, 0, kMostElements);
    refused += decode_control_request(words) ? 0 : 1;
    word = before;
  }
  EXPECT_GE(refused, 1);
}

// ---- pointers that lead nowhere ----

TEST(CodecHostile, PointersBeyondTheEndAreRefused) {
  EXPECT_FAILS(decode_submit(Words{struct_pointer(5, 6, 3)}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(decode_submit(Words{struct_pointer(-100, 6, 3)}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(decode_submit(Words{struct_pointer(0, 0, 3), list_pointer(100, 2, 8), 0, 0}),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(decode_submit(Words{struct_pointer(0, 0, 3), list_pointer(2, 2, 9), 0, 0, 0}),
               ErrorCode::kInvalidArgument);
}

TEST(CodecHostile, PointersIntoOtherSegmentsAreRefused) {
  for (const std::uint64_t segment : {1ULL, 0xFFFFFFFFULL}) {
    for (const bool is_double : {false, true}) {
      EXPECT_FAILS(decode_submit(Words{far_pointer(0, segment, is_double), 0}),
                   ErrorCode::kInvalidArgument);
    }
  }
}

TEST(CodecHostile, FarPointersInCirclesAreHandled) {
  for (const bool is_double : {false, true}) {
    for (std::uint64_t word = 0; word < 4; ++word) {
      const std::uint64_t far = far_pointer(word, 0, is_double);
      const Words words{far, far, far};
      for (const Corpus& corpus : corpora()) EXPECT_TRUE(is_handled(corpus.handled, words));
    }
  }
}

TEST(CodecHostile, CapabilitiesAreHandled) {
  for (const Corpus& corpus : corpora()) {
    EXPECT_TRUE(is_handled(corpus.handled, Words{3, 0}));
    EXPECT_TRUE(is_handled(corpus.handled, Words{struct_pointer(0, 0, 3), 3, 3, 3}));
  }
}

TEST(CodecHostile, StructsInsideThemselvesAreHandled) {
  // Every pointer of the struct leads to the struct itself.
  Words words(64);
  words[0] = struct_pointer(0, 8, 16);
  for (std::int32_t place = 9; place < 9 + 16; ++place) {
    words[static_cast<std::size_t>(place)] = struct_pointer(-place, 8, 16);
  }
  for (const Corpus& corpus : corpora()) EXPECT_TRUE(is_handled(corpus.handled, words));
}

TEST(CodecHostile, ChainsOfAThousandStructsAreHandled) {
  Words words{struct_pointer(0, 0, 3)};
  for (int i = 0; i < 1000; ++i) {
    for (int pointer = 0; pointer < 3; ++pointer) {
      words.push_back(struct_pointer(2 - pointer, 0, 3));
    }
  }
  words.resize(words.size() + 3);
  for (const Corpus& corpus : corpora()) EXPECT_TRUE(is_handled(corpus.handled, words));
}

TEST(CodecHostile, OneTextThatIsNamedAgainAndAgainIsRefused) {
  // 1000 stop strings, all of them the same 8000 bytes: 8 MB out of 16 KB.
  constexpr int kStops = 1000;
  Words words{struct_pointer(0, 0, 3),    0, struct_pointer(1, 0, 3), 0, 0, 0,
              list_pointer(1, 6, kStops), 0};
  for (int i = 0; i < kStops; ++i) words.push_back(list_pointer(kStops - 1 - i, 2, 8000));
  words.resize(words.size() + 1000);

  EXPECT_FAILS(decode_submit(words), ErrorCode::kInvalidArgument);
}

TEST(CodecHostile, NothingIsRefused) {
  EXPECT_FAILS(decode_submit({}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(decode_hello({}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(decode_control_request({}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(decode_result({}), ErrorCode::kInvalidArgument);
}

// ---- sound messages with values that are not ----

template <typename Change>
std::string problem_of(Change change) {
  SubmitMessage message = samples::small_submit();
  change(message);
  Words words;
  encode(message, words);
  const auto decoded = decode_submit(words);
  return decoded ? "" : decoded.error().message;
}

TEST(CodecHostile, NumbersThatAreNoneAreRefused) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    using M = SubmitMessage;
    EXPECT_NE(problem_of([&](M& m) { m.request.sampling.temperature = value; }), "");
    EXPECT_NE(problem_of([&](M& m) { m.request.sampling.top_p = value; }), "");
    EXPECT_NE(problem_of([&](M& m) { m.request.sampling.min_p = value; }), "");
    EXPECT_NE(problem_of([&](M& m) { m.request.sampling.presence_penalty = value; }), "");
    EXPECT_NE(problem_of([&](M& m) { m.request.sampling.frequency_penalty = value; }), "");
    EXPECT_NE(problem_of([&](M& m) { m.request.sampling.repetition_penalty = value; }), "");
    EXPECT_EQ(problem_of([&](M& m) { m.request.sampling.logit_bias[5] = value; }),
              "logit_bias is not a finite number");
  }
}

TEST(CodecHostile, UnknownEnumeratorsAreRefused) {
  EXPECT_EQ(problem_of([](SubmitMessage& m) {
              m.request.sampling.logprobs_mode = static_cast<LogprobsMode>(2);
            }),
            "logprobs_mode 2 is unknown");
  Words words;
  Hello hello;
  hello.kind = static_cast<ConnectionKind>(9);
  encode(hello, words);
  EXPECT_FAILS(decode_hello(words), ErrorCode::kInvalidArgument);
  RequestResult result;
  result.choices.resize(1);
  result.choices[0].reason = static_cast<FinishReason>(6);
  encode(result, words);
  EXPECT_FAILS(decode_result(words), ErrorCode::kInvalidArgument);
}

TEST(CodecHostile, UnknownFormsAreRefused) {
  // Only unions are refused for it: find the discriminant by what changes.
  for (const Words& good : samples::encoded(samples::control_requests())) {
    Words words = good;
    // number is the first word, the discriminant the beginning of the second
    words[2] |= 0xFFFF;
    EXPECT_FAILS(decode_control_request(words), ErrorCode::kInvalidArgument);
  }
}

TEST(CodecHostile, HalfATokenIdIsRefused) {
  EXPECT_EQ(problem_of([](SubmitMessage& m) {
              m.prompt = TokenSpans{{0, 6}};
            }),
            "the token ids have 6 bytes, not whole numbers of 4");
}

TEST(CodecHostile, NamesThatAreTooLongAreRefused) {
  Words words;
  Hello hello;
  hello.client_name = std::string(65, 'n');
  encode(hello, words);
  const auto refused = decode_hello(words);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "the client's name has 65 bytes, at most 64 are allowed");

  const auto open = [&](const JobOptions& options) {
    encode(ControlRequest{1, OpenJob{options}}, words);
    return decode_control_request(words);
  };
  JobOptions options;
  options.name = std::string(257, 'n');
  EXPECT_FAILS(open(options), ErrorCode::kInvalidArgument);
  options = {};
  options.metadata[std::string(65, 'k')] = "";
  EXPECT_FAILS(open(options), ErrorCode::kInvalidArgument);
  options = {};
  options.metadata["k"] = std::string(513, 'v');
  EXPECT_FAILS(open(options), ErrorCode::kInvalidArgument);
  options = {};
  for (int i = 0; i < 17; ++i) options.metadata[std::to_string(i)] = "";
  EXPECT_FAILS(open(options), ErrorCode::kInvalidArgument);
}

TEST(CodecHostile, APageWithTooManyJobsIsRefused) {
  Words words;
  JobsPage page;
  page.jobs.resize(kJobsInPage + 1);
  encode(ControlReply{1, page}, words);
  EXPECT_FAILS(decode_control_reply(words), ErrorCode::kInvalidArgument);
}

// ---- damage ----

TEST(CodecHostile, EveryBeginningIsHandled) {
  for (const Corpus& corpus : corpora()) {
    for (const Words& good : corpus.messages) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(good.data());
      for (std::size_t size = 0; size <= good.size() * 8; size += size % 8 == 0 ? 3U : 5U) {
        ASSERT_TRUE(corpus.handled(bytes, size)) << "at " << size;
      }
    }
  }
}

// A fixed seed for each of the parts: every run damages the same way.
class CodecDamage : public testing::TestWithParam<unsigned> {};

TEST_P(CodecDamage, FlippedBitsAreHandled) {
  std::mt19937_64 random(GetParam());  // NOLINT(cert-msc51-cpp): repeatable on purpose
  for (int round = 0; round < 20'000; ++round) {
    const Corpus& corpus = corpora()[random() % corpora().size()];
    Words words = corpus.messages[random() % corpus.messages.size()];
    for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      words[random() % words.size()] ^= 1ULL << (random() % 64);
    }
    ASSERT_TRUE(is_handled(corpus.handled, words)) << "in round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, CodecDamage, testing::Range(1U, 6U));

TEST(CodecHostile, WordsOfOtherPlacesAreHandled) {
  std::mt19937_64 random(20261202);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable on purpose
  for (int round = 0; round < 20'000; ++round) {
    const Corpus& corpus = corpora()[random() % corpora().size()];
    Words words = corpus.messages[random() % corpus.messages.size()];
    for (std::uint64_t copies = 1 + random() % 4; copies > 0; --copies) {
      words[random() % words.size()] = words[random() % words.size()];
    }
    ASSERT_TRUE(is_handled(corpus.handled, words)) << "in round " << round;
  }
}

// ---- newer peers ----

// The message as a later minor version would send it: its root has one more word of data and one more
// pointer, at the ends of what this version knows.
Words from_a_newer_peer(const Words& words) {
  const std::uint64_t data = words[0] >> 32U & 0xFFFFU;
  const std::uint64_t pointers = words[0] >> 48U;
  Words newer{struct_pointer(0, data + 1, pointers + 1)};
  std::size_t next = 1;
  for (std::uint64_t i = 0; i < data; ++i) newer.push_back(words[next++]);
  newer.push_back(0xFEEDFEEDFEEDFEED);
  for (std::uint64_t i = 0; i < pointers; ++i) {
    // Between the pointer and what it leads to there is one word more: the new pointer.
    const std::uint64_t pointer = words[next++];
    newer.push_back(pointer == 0 ? 0 : pointer + (1U << 2U));
  }
  newer.push_back(list_pointer(static_cast<std::int32_t>(words.size() - next), 2, 5));
  newer.insert(newer.end(), words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  newer.push_back(0x6f6c6c6568);
  return newer;
}

template <typename Message>
void expect_same_from_newer(const std::vector<Message>& messages,
                            Result<Message> (*decode)(WordView)) {
  for (const Message& message : messages) {
    Words words;
    encode(message, words);
    const auto decoded = decode(from_a_newer_peer(words));
    ASSERT_OK(decoded);
    EXPECT_EQ(shown(*decoded), shown(message));
  }
}

TEST(CodecHostile, WhatANewerPeerAppendsIsIgnored) {
  expect_same_from_newer(samples::submits(), decode_submit);
  expect_same_from_newer(samples::results(), decode_result);
  expect_same_from_newer(samples::errors(), decode_error);
  expect_same_from_newer(samples::tokens(), decode_token);
  expect_same_from_newer(samples::hellos(), decode_hello);
  expect_same_from_newer(samples::hello_replies(), decode_hello_reply);
  expect_same_from_newer(samples::control_requests(), decode_control_request);
  expect_same_from_newer(samples::control_replies(), decode_control_reply);
}

TEST(CodecHostile, AbsentFieldsAreZeros) {
  // A struct without fields, as from a peer that knows none of them.
  const auto decoded = decode_submit(Words{struct_pointer(-1, 0, 0)});

  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->request.sampling.n, 0);
  EXPECT_EQ(decoded->request.custom_id, "");
}

}  // namespace
}  // namespace deepinfer::ipc
