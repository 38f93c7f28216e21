// The embedded engine on the nano checkpoint: answers, ends, seeds, independence of neighbours.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <deepinfer/engine.h>

#include "tests/support/golden_file.h"

namespace deepinfer {
namespace {

class Collector final : public Sink {
 public:
  void on_token(const TokenEvent& event) override {
    streamed[event.request] += event.text;
    ++tokens[event.request];
  }
  void on_finished(RequestResult result) override {
    const RequestHandle handle = result.request;
    EXPECT_EQ(results.count(handle), 0U) << "finished twice";
    results[handle] = std::move(result);
  }
  std::map<RequestHandle, RequestResult> results;
  std::map<RequestHandle, std::string> streamed;
  std::map<RequestHandle, int> tokens;
};

std::unique_ptr<Engine> open_nano(EngineOptions options = {}) {
  options.model = test::model_path("nano");
  EngineError error;
  auto engine = Engine::open(options, error);
  EXPECT_NE(engine, nullptr) << error.what;
  return engine;
}

Request chat(const std::string& text, bool thinking = false) {
  Request request;
  request.prompt = ChatPrompt{.messages = R"([{"role": "user", "content": ")" + text + "\"}]",
                              .tools = {},
                              .response_format = {},
                              .thinking = thinking};
  request.sampling.temperature = 0;
  request.sampling.max_tokens = 80;
  return request;
}

RequestResult run_alone(Engine& engine, const Request& request) {
  Collector collector;
  const auto submitted = engine.submit(request, collector);
  EXPECT_FALSE(submitted.error.has_value()) << submitted.error->message;
  while (engine.step() == StepOutcome::kWorked) {
  }
  return collector.results.at(submitted.request);
}

TEST(Engine, AnswersAQuestion) {
  auto engine = open_nano();

  const RequestResult result = run_alone(*engine, chat("What is the capital of France?"));

  ASSERT_EQ(result.choices.size(), 1U);
  EXPECT_EQ(result.choices[0].reason, FinishReason::kStop);
  EXPECT_NE(result.choices[0].content.find("Paris"), std::string::npos);
  EXPECT_EQ(result.choices[0].tokens.back(), 1);
  EXPECT_FALSE(result.choices[0].reasoning_content.has_value());
}

TEST(Engine, SplitsReasoningFromTheAnswer) {
  auto engine = open_nano();

  const RequestResult result = run_alone(*engine, chat("What is 47 + 38?", /*thinking=*/true));

  const Choice& choice = result.choices.at(0);
  EXPECT_NE(choice.content.find("85"), std::string::npos) << choice.text;
  ASSERT_TRUE(choice.reasoning_content.has_value());
  EXPECT_FALSE(choice.reasoning_content->empty());
  EXPECT_GT(choice.reasoning_tokens, 0);
  EXPECT_LE(choice.reasoning_tokens, static_cast<std::int64_t>(choice.tokens.size()));
}

TEST(Engine, CutInsideTheReasoningThereIsNoContent) {
  auto engine = open_nano();
  Request request = chat("What is 47 + 38?", /*thinking=*/true);
  request.sampling.max_tokens = 3;

  const RequestResult result = run_alone(*engine, request);

  EXPECT_EQ(result.choices.at(0).reason, FinishReason::kLength);
  EXPECT_EQ(result.choices.at(0).content, "");
  EXPECT_EQ(result.choices.at(0).reasoning_tokens, 3);
}

TEST(Engine, GivesTheSameAnswerAloneAndInACrowdOnASmallCache) {
  auto alone = open_nano();
  // Room for few: sequences wait, are preempted and computed again, in odd chunks.
  auto crowded = open_nano({.max_context = 512,
                            .max_sequences = 5,
                            .max_batch_tokens = 24,
                            .prefill_chunk = 7,
                            .cache_bytes = 81920});
  std::vector<Request> requests;
  for (int i = 0; i < 12; ++i) {
    Request request = chat("Tell me a story about Mara the fox number " + std::to_string(i) + ".");
    request.sampling.temperature = 0.8;
    request.sampling.seed = static_cast<std::uint64_t>(i);
    request.sampling.max_tokens = 150;  // beyond the first block of 128 positions
    request.sampling.ignore_eos = true;
    request.sampling.logprobs = 2;
    requests.push_back(request);
  }

  Collector collector;
  std::vector<RequestHandle> handles;
  handles.reserve(requests.size());
  for (const Request& request : requests) {
    handles.push_back(crowded->submit(request, collector).request);
  }
  while (crowded->step() == StepOutcome::kWorked) {
  }

  EXPECT_GT(crowded->stats().preemptions, 0);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Choice by_itself = run_alone(*alone, requests[i]).choices.at(0);
    const Choice& among = collector.results.at(handles[i]).choices.at(0);
    EXPECT_EQ(among.tokens, by_itself.tokens);
    ASSERT_EQ(among.logprobs.size(), by_itself.logprobs.size());
    for (std::size_t t = 0; t < among.logprobs.size(); ++t) {
      EXPECT_EQ(among.logprobs[t].logprob, by_itself.logprobs[t].logprob);
    }
    EXPECT_EQ(collector.streamed.at(handles[i]), among.text);
  }
}

TEST(Engine, EndsAtAStopStringAcrossTokens) {
  auto engine = open_nano();
  const std::string whole =
      run_alone(*engine, chat("What is the capital of France?")).choices[0].text;
  ASSERT_GT(whole.size(), 8U);
  Request request = chat("What is the capital of France?");
  request.sampling.stop = {whole.substr(3, 5)};

  const Choice cut = run_alone(*engine, request).choices.at(0);
  request.sampling.include_stop_str_in_output = true;
  const Choice with_stop = run_alone(*engine, request).choices.at(0);

  EXPECT_EQ(cut.reason, FinishReason::kStop);
  EXPECT_EQ(cut.stop_string, whole.substr(3, 5));
  EXPECT_EQ(cut.text, whole.substr(0, 3));
  EXPECT_EQ(with_stop.text, whole.substr(0, 8));
}

TEST(Engine, StopsAtAStopTokenAndAtALength) {
  auto engine = open_nano();
  const Choice whole = run_alone(*engine, chat("What is the capital of France?")).choices.at(0);
  Request stop = chat("What is the capital of France?");
  stop.sampling.stop_token_ids = {whole.tokens.at(2)};
  Request length = chat("What is the capital of France?");
  length.sampling.max_tokens = 2;

  const Choice stopped = run_alone(*engine, stop).choices.at(0);
  const Choice cut = run_alone(*engine, length).choices.at(0);

  EXPECT_EQ(stopped.reason, FinishReason::kStop);
  EXPECT_EQ(stopped.stop_token, whole.tokens.at(2));
  EXPECT_EQ(stopped.tokens.size(), 3U);
  EXPECT_EQ(cut.reason, FinishReason::kLength);
  EXPECT_EQ(cut.tokens.size(), 2U);
}

TEST(Engine, EveryChoiceIsReproducedByItsOwnSeed) {
  auto engine = open_nano();
  Request request = chat("Tell me a story about Mara the fox.");
  request.sampling.temperature = 1.0;
  request.sampling.n = 3;
  request.custom_id = "story";

  const RequestResult all = run_alone(*engine, request);

  ASSERT_EQ(all.choices.size(), 3U);
  EXPECT_NE(all.choices[0].seed, all.choices[1].seed);
  for (const Choice& choice : all.choices) {
    Request again = request;
    again.sampling.n = 1;
    again.sampling.seed = choice.seed;
    EXPECT_EQ(run_alone(*engine, again).choices.at(0).tokens, choice.tokens);
  }
}

TEST(Engine, CancelsWithTheTextSoFar) {
  auto engine = open_nano();
  Collector collector;
  Request request = chat("Tell me a story about Mara the fox.");
  request.sampling.max_tokens = 400;
  request.sampling.ignore_eos = true;
  const RequestHandle handle = engine->submit(request, collector).request;
  for (int i = 0; i < 6; ++i) engine->step();

  EXPECT_TRUE(engine->cancel(handle));
  EXPECT_FALSE(engine->cancel(handle));
  engine->step();

  const Choice& choice = collector.results.at(handle).choices.at(0);
  EXPECT_EQ(choice.reason, FinishReason::kCancelled);
  EXPECT_EQ(static_cast<int>(choice.tokens.size()), collector.tokens[handle]);
  EXPECT_FALSE(engine->cancel(handle));
  EXPECT_EQ(engine->stats().cache_blocks_free, engine->stats().cache_blocks);
  EXPECT_EQ(engine->step(), StepOutcome::kIdle);
}

TEST(Engine, EndsWhatIsPastItsDeadline) {
  auto engine = open_nano();
  Request request = chat("Hello");
  request.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);

  const Choice choice = run_alone(*engine, request).choices.at(0);

  EXPECT_EQ(choice.reason, FinishReason::kDeadline);
  EXPECT_TRUE(choice.tokens.empty());
}

TEST(Engine, RefusesImpossibleRequestsWithTheirCode) {
  auto engine = open_nano({.max_context = 64});
  Collector collector;
  const auto code_of = [&](const Request& request) {
    const auto submitted = engine->submit(request, collector);
    return submitted.error.has_value() ? submitted.error->code : std::string("accepted");
  };
  Request too_long;
  too_long.prompt = TokenPrompt{std::vector<std::int32_t>(64, 5)};
  Request out_of_range;
  out_of_range.prompt = TokenPrompt{{1, 2, 4096}};
  Request negative;
  negative.prompt = TokenPrompt{{-1}};
  Request empty;
  empty.prompt = TokenPrompt{};
  Request bad_chat;
  bad_chat.prompt = ChatPrompt{
      .messages = R"([{"role": "pirate", "content": "x"}])", .tools = {}, .response_format = {}};
  Request not_json;
  not_json.prompt = ChatPrompt{.messages = "{", .tools = {}, .response_format = {}};

  EXPECT_EQ(code_of(too_long), "prompt_too_long");
  EXPECT_EQ(code_of(out_of_range), "token_out_of_range");
  EXPECT_EQ(code_of(negative), "token_out_of_range");
  EXPECT_EQ(code_of(empty), "invalid_value");
  EXPECT_EQ(code_of(bad_chat), "invalid_value");
  EXPECT_EQ(code_of(not_json), "invalid_value");
  EXPECT_EQ(engine->step(), StepOutcome::kIdle);
}

// Walks over messages and tools are recursive: no text may make them as deep as it likes.
TEST(Engine, RefusesChatsThatAreNestedTooDeeply) {
  auto engine = open_nano({});
  const std::string deep(1'000'000, '[');
  for (const int part : {0, 1, 2}) {
    ChatPrompt chat{.messages = R"([{"role":"user","content":"[[[[ \"[ is text"}])",
                    .tools = {},
                    .response_format = {}};
    if (part == 0) chat.messages = deep;
    if (part == 1) chat.tools = deep + std::string(deep.size(), ']');
    if (part == 2) chat.response_format = deep;
    Request request;
    request.prompt = chat;
    const auto encoded = engine->encode(request);
    ASSERT_TRUE(std::holds_alternative<RequestError>(encoded));
    EXPECT_EQ(std::get<RequestError>(encoded).code, "invalid_value");
  }
}

// A daemon's client may send the largest text that shared memory holds: it is refused without encoding it.
TEST(Engine, RefusesAHopelesslyLongTextWithoutEncodingIt) {
  auto engine = open_nano({.max_context = 64});
  Request request;
  request.prompt = TextPrompt{std::string(std::size_t{64} << 20U, 'a')};

  const auto encoded = engine->encode(request);

  ASSERT_TRUE(std::holds_alternative<RequestError>(encoded));
  EXPECT_EQ(std::get<RequestError>(encoded).code, "prompt_too_long");
  EXPECT_NE(std::get<RequestError>(encoded).message.find("at least"), std::string::npos);
}

// An answer ends when the context is full, whatever max_tokens says.
TEST(Engine, TheContextBoundsTheAnswer) {
  auto engine = open_nano({.max_context = 64});
  Request request;
  request.prompt = TokenPrompt{std::vector<std::int32_t>(60, 5)};
  request.sampling.max_tokens = 1000;
  request.sampling.ignore_eos = true;

  const Choice choice = run_alone(*engine, request).choices.at(0);

  EXPECT_EQ(choice.reason, FinishReason::kLength);
  EXPECT_EQ(choice.tokens.size(), 4U);
}

TEST(Engine, PutsBosInFrontOfRawTextOnce) {
  auto engine = open_nano();
  Request plain;
  plain.prompt = TextPrompt{"Hello"};
  Request marked;
  marked.prompt = TextPrompt{"<｜begin▁of▁sentence｜>Hello"};

  const auto plain_ids = std::get<std::vector<std::int32_t>>(engine->encode(plain));
  const auto marked_ids = std::get<std::vector<std::int32_t>>(engine->encode(marked));

  EXPECT_EQ(plain_ids.front(), 0);
  EXPECT_EQ(plain_ids, marked_ids);
}

TEST(Engine, NamesEveryProblemOfACheckpoint) {
  EngineError error;
  auto engine = Engine::open({.model = "no-such-folder"}, error);
  EXPECT_EQ(engine, nullptr);
  EXPECT_EQ(error.fault, EngineFault::kModel);
  EXPECT_FALSE(error.what.empty());
  EXPECT_FALSE(error.mend.empty());
}

TEST(Engine, TheReferenceOperationsGiveTheSameGreedyAnswer) {
  auto fast = open_nano();
  auto reference = open_nano({.numerics = Numerics::kReference});
  Request request = chat("Hello");
  request.sampling.max_tokens = 6;

  EXPECT_EQ(run_alone(*reference, request).choices[0].tokens,
            run_alone(*fast, request).choices[0].tokens);
}

}  // namespace
}  // namespace deepinfer
