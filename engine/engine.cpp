#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <deepinfer/engine.h>

#include "engine/capacity.h"
#include "engine/kv/kv_cache.h"
#include "engine/model/forward.h"
#include "engine/open_model.h"
#include "engine/prompt.h"
#include "engine/request_check.h"
#include "engine/running_request.h"
#include "engine/sampling/noise.h"
#include "engine/step_runner.h"

namespace deepinfer {
namespace {

using engine::RequestFacts;
using engine::RunningRequest;
using engine::Scheduler;
using engine::Sequence;
using engine::SequenceKey;
using engine::StepRunner;

// A key is the request's number and the choice's: 128 choices at most.
constexpr std::uint64_t kChoiceBits = 8;

SequenceKey key_of(RequestHandle request, std::size_t choice) {
  return SequenceKey{(static_cast<std::uint64_t>(request) << kChoiceBits) | choice};
}
RequestHandle request_of(SequenceKey key) {
  return RequestHandle{static_cast<std::uint64_t>(key) >> kChoiceBits};
}
std::size_t choice_of(SequenceKey key) {
  return static_cast<std::size_t>(key) & ((1U << kChoiceBits) - 1U);
}

}  // namespace

struct Engine::Parts {
  Parts(const EngineOptions& engine_options, std::unique_ptr<engine::OpenModel> open,
        const engine::CacheLayout& layout, const engine::Capacity& plan)
      : options(engine_options),
        capacity(plan),
        model(std::move(open)),
        cache_layout(layout),
        encoder(*model->tokenizer, shape(), plan.max_context),
        forward({.shape = shape(),
                 .weights = model->weights,
                 .layout = cache_layout,
                 .token_map = model->token_map,
                 .ops = engine_options.numerics == Numerics::kFast ? engine::fast_ops()
                                                                   : engine::reference_ops(),
                 .threads = plan.threads}),
        scheduler({.max_sequences = engine_options.max_sequences,
                   .max_batch_tokens = engine_options.max_batch_tokens,
                   .prefill_chunk = engine_options.prefill_chunk,
                   .blocks = plan.blocks}) {}

  [[nodiscard]] const engine::ModelShape& shape() const { return model->checkpoint->shape(); }

  [[nodiscard]] RequestFacts facts_of(const Request& request, std::vector<TokenId> prompt) const;
  void add(RequestHandle handle, const Request& request, RequestFacts facts, Sink& sink);
  [[nodiscard]] bool end_overdue();
  void run_plan(const Scheduler::Plan& plan);
  void deliver(const StepRunner::Item& item, std::span<const float> logits);
  void fail_all(std::span<const StepRunner::Item> items, const Error& error);
  void end_choice(SequenceKey key, FinishReason reason, std::optional<RequestError> error);
  void end_request(RunningRequest& request, FinishReason reason);
  [[nodiscard]] Sequence& sequence(SequenceKey key) {
    return *requests.at(request_of(key))->choices[choice_of(key)];
  }

  const EngineOptions options;
  const engine::Capacity capacity;
  std::unique_ptr<engine::OpenModel> model;
  const engine::CacheLayout cache_layout;
  engine::PromptEncoder encoder;
  engine::Forward forward;
  Scheduler scheduler;
  std::unique_ptr<engine::KvCache> cache;
  std::unique_ptr<StepRunner> runner;
  std::map<RequestHandle, std::unique_ptr<RunningRequest>> requests;
  // What a step must look at, however many requests are queued.
  std::vector<RequestHandle> cancelled;
  std::set<std::pair<std::chrono::steady_clock::time_point, RequestHandle>> deadlines;
  std::uint64_t next_request = 1;
  ModelFacts facts;
  EngineStats stats;
};

RequestFacts Engine::Parts::facts_of(const Request& request, std::vector<TokenId> prompt) const {
  RequestFacts made;
  made.params = request.sampling;
  made.logprobs_mode = request.sampling.logprobs_mode.value_or(options.logprobs_mode);
  const std::int64_t room = capacity.max_context - static_cast<std::int64_t>(prompt.size());
  made.max_answer = std::min(request.sampling.max_tokens.value_or(room), room);
  made.prompt = std::move(prompt);
  made.eos = static_cast<std::int32_t>(shape().eos_token);
  made.end_tokens = request.sampling.stop_token_ids;
  made.end_tokens.push_back(made.eos);
  if (const auto* chat = std::get_if<ChatPrompt>(&request.prompt)) {
    made.is_chat = true;
    made.thinking = chat->thinking;
    const auto think_end = model->tokenizer->added_token("</think>");
    if (think_end) made.think_end = *think_end;
  }
  return made;
}

void Engine::Parts::add(RequestHandle handle, const Request& request, RequestFacts facts_of_request,
                        Sink& sink) {
  auto running = std::make_unique<RunningRequest>(handle, std::move(facts_of_request), sink);
  running->deadline = request.deadline;
  if (request.deadline) deadlines.emplace(*request.deadline, handle);
  running->unfinished = request.sampling.n;
  for (std::int64_t choice = 0; choice < request.sampling.n; ++choice) {
    const bool is_given = request.sampling.seed.has_value() && choice == 0;
    const std::uint64_t job_seed =
        request.sampling.seed.value_or(request.job_seed.value_or(options.job_seed));
    const std::uint64_t seed =
        is_given ? job_seed : engine::derive_seed(job_seed, request.custom_id, choice);
    running->choices.push_back(std::make_unique<Sequence>(*model->tokenizer, running->facts, seed));
    running->keys.push_back(key_of(handle, static_cast<std::size_t>(choice)));
    scheduler.add(running->keys.back(), request.priority,
                  static_cast<std::int64_t>(running->facts.prompt.size()));
  }
  requests.emplace(handle, std::move(running));
}

// Ends what was cancelled or is past its deadline; true when something was.
bool Engine::Parts::end_overdue() {
  bool has_ended_some = false;
  const auto end = [&](RequestHandle handle, FinishReason reason) {
    const auto found = requests.find(handle);
    if (found == requests.end()) return;  // it has ended by itself
    end_request(*found->second, reason);
    has_ended_some = true;
  };
  for (const RequestHandle handle : std::exchange(cancelled, {})) {
    end(handle, FinishReason::kCancelled);
  }
  if (deadlines.empty()) return has_ended_some;
  const auto now = std::chrono::steady_clock::now();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    const RequestHandle handle = deadlines.begin()->second;
    deadlines.erase(deadlines.begin());
    end(handle, FinishReason::kDeadline);
  }
  return has_ended_some;
}

void Engine::Parts::end_request(RunningRequest& request, FinishReason reason) {
  const std::vector<SequenceKey> keys = request.keys;  // the request goes with its last choice
  std::vector<SequenceKey> open;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!request.choices[i]->has_ended()) open.push_back(keys[i]);
  }
  for (const SequenceKey key : open) end_choice(key, reason, std::nullopt);
}

void Engine::Parts::end_choice(SequenceKey key, FinishReason reason,
                               std::optional<RequestError> error) {
  RunningRequest& request = *requests.at(request_of(key));
  Sequence& choice = sequence(key);
  choice.end(reason, std::move(error));  // nothing when the sequence has ended by itself
  runner->release(choice);
  scheduler.remove(key);
  if (--request.unfinished > 0) return;

  RequestResult result;
  result.request = request.handle;
  for (const TokenId token : request.facts.prompt) result.prompt_tokens.push_back(value_of(token));
  for (const auto& ended : request.choices) result.choices.push_back(ended->take_choice());
  Sink& sink = request.sink;
  if (request.deadline) deadlines.erase({*request.deadline, request.handle});
  requests.erase(request.handle);
  sink.on_finished(std::move(result));
}

void Engine::Parts::run_plan(const Scheduler::Plan& plan) {
  for (const SequenceKey key : plan.preempted) runner->release(sequence(key));
  std::vector<StepRunner::Item> items;
  for (const Scheduler::Run& run : plan.runs) items.push_back({&sequence(run.sequence), run});

  const auto began = std::chrono::steady_clock::now();
  const auto logits = runner->run(items);
  if (!logits) {
    fail_all(items, logits.error());
    return;
  }
  bool has_prompt = false;
  std::int64_t row = 0;
  for (const StepRunner::Item& item : items) {
    const bool is_prompt = item.run.tokens > 1 || item.sequence->answer().empty();
    (is_prompt ? stats.prefill_tokens : stats.decode_tokens) += item.run.tokens;
    has_prompt = has_prompt || is_prompt;
    scheduler.advance(item.run.sequence, item.run.tokens, item.run.reaches_end ? 1 : 0);
    if (!item.run.reaches_end) continue;
    const float* first = logits->data() + row++ * shape().vocabulary;
    deliver(item, {first, static_cast<std::size_t>(shape().vocabulary)});
  }
  (has_prompt ? stats.prefill_time : stats.decode_time) += std::chrono::steady_clock::now() - began;
}

void Engine::Parts::deliver(const StepRunner::Item& item, std::span<const float> logits) {
  const SequenceKey key = item.run.sequence;
  RunningRequest& request = *requests.at(request_of(key));
  Sequence& choice = *item.sequence;
  const auto sampled =
      engine::sample({.logits = logits,
                      .params = request.facts.params,
                      .logprobs_mode = request.facts.logprobs_mode,
                      .seed = choice.seed(),
                      .position = static_cast<std::int64_t>(choice.answer().size()),
                      .end_tokens = request.facts.end_tokens,
                      .prompt = request.facts.prompt,
                      .answer = choice.answer()});
  if (!sampled) {
    end_choice(key, FinishReason::kError, RequestError{"model_fault", sampled.error().message, ""});
    return;
  }
  TokenEvent event;
  event.request = request.handle;
  event.choice = static_cast<std::int64_t>(choice_of(key));
  const bool was_last = choice.push(*sampled, event);
  request.sink.on_token(event);
  if (was_last) end_choice(key, FinishReason::kStop, std::nullopt);
}

void Engine::Parts::fail_all(std::span<const StepRunner::Item> items, const Error& error) {
  for (const StepRunner::Item& item : items) {
    end_choice(item.run.sequence, FinishReason::kError,
               RequestError{"model_fault", error.message, ""});
  }
}

std::unique_ptr<Engine> Engine::open(const EngineOptions& options, EngineError& error) {
  auto model = engine::open_model(options.model, error);
  if (model == nullptr) return nullptr;
  const engine::ModelShape& shape = model->checkpoint->shape();
  const engine::CacheLayout layout = engine::cache_layout(shape);
  const auto configuration_error = [&](const Error& cause, const char* mend) {
    error = {.fault = EngineFault::kConfiguration,
             .what = cause.message,
             .where = "engine options",
             .mend = mend,
             .all = {}};
    return nullptr;
  };
  const auto capacity = engine::plan_capacity(options, shape, layout);
  if (!capacity) return configuration_error(capacity.error(), "choose a value in the range");
  auto cache = engine::KvCache::create(
      {.layout = layout, .blocks = capacity->blocks, .slots = capacity->slots});
  if (!cache) {
    return configuration_error(cache.error(), "lower max_sequences, max_context or cache_bytes");
  }

  auto parts = std::make_unique<Parts>(options, std::move(model), layout, *capacity);
  parts->cache = *std::move(cache);
  parts->runner = std::make_unique<StepRunner>(*parts->cache, parts->forward, parts->shape());
  const engine::ModelShape& kept = parts->shape();
  parts->facts = {.name = options.model.lexically_normal().filename().string(),
                  .vocabulary = kept.vocabulary,
                  .max_context = capacity->max_context,
                  .bos_token = kept.bos_token,
                  .eos_token = kept.eos_token};
  return std::unique_ptr<Engine>(new Engine(std::move(parts)));  // make_unique cannot
}

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Engine::~Engine() {
  // Leases go back before their pool does.
  parts_->requests.clear();
}

std::variant<PreparedRequest, RequestError> Engine::prepare(Request request) const {
  if (auto error = engine::check_sampling(request.sampling, parts_->shape().vocabulary)) {
    return *std::move(error);
  }
  auto encoded = encode(request);
  if (auto* error = std::get_if<RequestError>(&encoded)) return std::move(*error);
  return PreparedRequest{std::move(request),
                         std::get<std::vector<std::int32_t>>(std::move(encoded))};
}

RequestHandle Engine::submit(const PreparedRequest& request, Sink& sink) {
  const RequestHandle handle{parts_->next_request++};
  std::vector<TokenId> prompt;
  prompt.reserve(request.prompt.size());
  for (const std::int32_t id : request.prompt) prompt.push_back(TokenId{id});
  parts_->add(handle, request.request, parts_->facts_of(request.request, std::move(prompt)), sink);
  return handle;
}

Engine::Submitted Engine::submit(const Request& request, Sink& sink) {
  auto prepared = prepare(request);
  if (auto* error = std::get_if<RequestError>(&prepared)) {
    return {.request = {}, .error = std::move(*error)};
  }
  return {.request = submit(std::get<PreparedRequest>(prepared), sink), .error = std::nullopt};
}

bool Engine::cancel(RequestHandle request) {
  const auto found = parts_->requests.find(request);
  if (found == parts_->requests.end() || found->second->cancelled) return false;
  found->second->cancelled = true;
  parts_->cancelled.push_back(request);
  return true;
}

StepOutcome Engine::step() {
  const bool ended_some = parts_->end_overdue();
  const Scheduler::Plan plan = parts_->scheduler.plan();
  if (plan.runs.empty()) return ended_some ? StepOutcome::kWorked : StepOutcome::kIdle;
  ++parts_->stats.steps;
  parts_->run_plan(plan);
  return StepOutcome::kWorked;
}

std::variant<std::vector<std::int32_t>, RequestError> Engine::encode(const Request& request) const {
  auto encoded = parts_->encoder.encode(request);
  if (auto* error = std::get_if<RequestError>(&encoded)) return std::move(*error);
  std::vector<std::int32_t> ids;
  for (const TokenId token : std::get<std::vector<TokenId>>(encoded)) {
    ids.push_back(value_of(token));
  }
  return ids;
}

EngineStats Engine::stats() const {
  EngineStats stats = parts_->stats;
  stats.running = parts_->scheduler.running();
  stats.waiting = parts_->scheduler.waiting();
  stats.preemptions = parts_->scheduler.preemptions();
  stats.cache_blocks_free = parts_->scheduler.free_blocks();
  stats.cache_blocks = parts_->capacity.blocks;
  return stats;
}

const ModelFacts& Engine::model() const { return parts_->facts; }

}  // namespace deepinfer
