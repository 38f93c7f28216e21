#include "tests/fuzz/message_samples.h"

#include <chrono>
#include <limits>
#include <string>

namespace deepinfer::ipc::samples {
namespace {

constexpr JobId kJob{.high = 0x0123456789abcdef, .low = 0xfedcba9876543210};
constexpr float kImpossible = -std::numeric_limits<float>::infinity();

// Bytes that are no text: a zero, a lone continuation byte, a quotation mark.
std::string any_bytes() { return {'a', '\0', '\x80', '\xFF', '"', '\n'}; }

SamplingParams every_param() {
  SamplingParams params;
  params.max_tokens = 1;
  params.min_tokens = 2;
  params.temperature = 0.1;
  params.top_p = 0.30000000000000004;
  params.top_k = 40;
  params.min_p = 5e-324;
  params.presence_penalty = -0.0;
  params.frequency_penalty = -2.0;
  params.repetition_penalty = 1.0000000000000002;
  params.logit_bias = {{-3, -100.0}, {0, 0.1}, {129279, 100.0}};
  params.seed = 18446744073709551615U;
  params.stop = {"", "</s>", any_bytes()};
  params.stop_token_ids = {1, -1, 2147483647};
  params.include_stop_str_in_output = true;
  params.ignore_eos = true;
  params.skip_special_tokens = false;
  params.n = 128;
  params.logprobs = 0;
  params.logprobs_mode = LogprobsMode::kProcessed;
  return params;
}

SubmitMessage full_submit() {
  SubmitMessage message;
  message.job = kJob;
  message.stream = true;
  message.request.sampling = every_param();
  message.request.custom_id = any_bytes();
  message.request.priority = std::numeric_limits<std::int64_t>::min();
  message.request.deadline =
      std::chrono::steady_clock::time_point(std::chrono::nanoseconds(-1'234'567'890'123));
  message.request.job_seed = 0;
  message.prompt = ChatSpans{.messages = {8, 100},
                             .tools = {112, 3},
                             .response_format = {120, 18446744073709551615U},
                             .thinking = false,
                             .reasoning_effort = -7};
  return message;
}

std::vector<TokenLogprob> top_tokens() {
  return {{.token = 5, .logprob = -0.25F, .text = "x"},
          {.token = 129279, .logprob = -9999.0F, .text = any_bytes()},
          {.token = 0, .logprob = kImpossible, .text = ""}};
}

Choice full_choice() {
  Choice choice;
  choice.reason = FinishReason::kToolCalls;
  choice.text = any_bytes();
  choice.tokens = {1, 2, -1};
  choice.seed = 18446744073709551615U;
  choice.stop_string = "";
  choice.stop_token = 0;
  choice.logprobs = {{.token = 7, .logprob = -0.0F, .text = "y"}};
  choice.top_logprobs = {{}, top_tokens(), {{.token = 1, .logprob = 1e-45F, .text = "z"}}, {}};
  choice.error = RequestError{.code = "model_fault", .message = any_bytes(), .param = "/n"};
  choice.content = "content";
  choice.reasoning_content = "";
  choice.tool_calls = {{.name = "f", .arguments = R"({"a":1})"}, {.name = "", .arguments = ""}};
  choice.reasoning_tokens = 2;
  return choice;
}

ModelFacts model() {
  return {.name = "nano",
          .vocabulary = 129280,
          .max_context = 1'000'000,
          .bos_token = 3,
          .eos_token = -1};
}

JobInfo job(JobState state) {
  using std::chrono::system_clock;
  JobInfo info;
  info.id = kJob;
  info.name = "nightly";
  info.uid = 4294967295U;
  info.state = state;
  info.counts = {
      .total = 15, .completed = 1, .failed = 2, .cancelled = 3, .queued = 4, .running = 5};
  info.metadata = {{"", "empty"}, {"a", ""}, {std::string(64, 'k'), std::string(512, 'v')}};
  info.created = system_clock::time_point(std::chrono::nanoseconds(1'796'000'000'123'456'789));
  if (state != JobState::kRunning) info.ended = system_clock::time_point{};
  return info;
}

DaemonStatus status() {
  DaemonStatus status;
  status.state = DaemonState::kDrained;
  status.version = "0.1.0";
  status.pid = 4194304;
  status.uptime = std::chrono::milliseconds(123'456);
  status.model = model();
  status.backend = "cpu";
  status.sessions = 1;
  status.jobs_running = 2;
  status.requests_queued = 3;
  status.requests_running = 4;
  status.requests_finished = 5;
  status.requests_refused = 6;
  status.engine = {.steps = 1,
                   .prefill_tokens = 2,
                   .decode_tokens = 3,
                   .running = 4,
                   .waiting = 5,
                   .preemptions = 6,
                   .cache_blocks_free = 7,
                   .cache_blocks = 8,
                   .prefill_time = std::chrono::nanoseconds(9),
                   .decode_time = std::chrono::nanoseconds(10)};
  return status;
}

Refusal refusal() {
  return {.code = "session_limit",
          .what = "uid 1000 has 8 sessions",
          .mend = "close one",
          .retry_after_ms = 250};
}

}  // namespace

SubmitMessage small_submit() {
  SubmitMessage message;
  message.request.custom_id = "request-000001";
  message.request.sampling.max_tokens = 256;
  message.request.sampling.temperature = 0.7;
  message.request.sampling.top_p = 0.95;
  message.request.sampling.top_k = 40;
  message.request.sampling.seed = 42;
  message.prompt = TokenSpans{{64, 4096}};
  return message;
}

std::vector<SubmitMessage> submits() {
  SubmitMessage text;
  text.prompt = TextSpans{{0, 18446744073709551615U}};
  SubmitMessage late = small_submit();
  late.request.deadline = std::chrono::steady_clock::time_point::max();
  late.request.sampling.logprobs_mode = LogprobsMode::kRaw;
  late.request.sampling.logprobs = 1000;
  return {SubmitMessage{}, text, small_submit(), late, full_submit()};
}

std::vector<RequestResult> results() {
  RequestResult full;
  full.request = RequestHandle{18446744073709551615U};
  full.prompt_tokens = {0, 1, -2};
  full.choices = {full_choice(), Choice{}, full_choice()};
  RequestResult plain;
  plain.request = RequestHandle{1};
  plain.choices.resize(1);
  plain.choices[0].reason = FinishReason::kStop;
  plain.choices[0].text = "An answer.";
  plain.choices[0].tokens = {10, 11, 12, 1};
  plain.choices[0].stop_token = 1;
  return {RequestResult{}, plain, full};
}

std::vector<RequestError> errors() {
  return {{}, {.code = "invalid_value", .message = any_bytes(), .param = "/stop/0"}};
}

std::vector<TokenEvent> tokens() {
  TokenEvent full;
  full.request = RequestHandle{9};
  full.choice = 127;
  full.token = 129279;
  full.text = any_bytes();
  full.logprob = TokenLogprob{.token = 129279, .logprob = kImpossible, .text = "t"};
  full.top_logprobs = top_tokens();
  TokenEvent plain;
  plain.text = "word";
  return {TokenEvent{}, plain, full};
}

std::vector<Hello> hellos() {
  Hello hello;
  hello.magic = 1;
  hello.abi_major = 2;
  hello.abi_minor = 65535;
  hello.layout = 4;
  hello.features = 18446744073709551615U;
  hello.kind = ConnectionKind::kControl;
  hello.client_name = std::string(64, 'n');
  hello.client_version = "0.1.0";
  hello.wanted = {2, 65536, 0, 18446744073709551615U};
  return {Hello{}, hello};
}

std::vector<HelloReply> hello_replies() {
  Welcome welcome;
  welcome.abi_major = 7;
  welcome.abi_minor = 8;
  welcome.features = 9;
  welcome.session = 10;
  welcome.epoch = 18446744073709551615U;
  welcome.granted = {4, 8, 65536, 131072};
  welcome.max_unfinished = 4096;
  welcome.version = "0.1.0";
  welcome.model = model();
  return {Welcome{}, welcome, Refusal{}, refusal()};
}

std::vector<ControlRequest> control_requests() {
  JobOptions options;
  options.name = std::string(256, 'j');
  for (int i = 0; i < 16; ++i) options.metadata["key " + std::to_string(i)] = any_bytes();
  options.seed = 0;
  options.on_disconnect = OnDisconnect::kContinue;
  return {{1, StatusQuery{}},
          {2, JobsQuery{}},
          {3, JobsQuery{JobId{}}},
          {4, JobsQuery{kJob}},
          {5, JobQuery{kJob}},
          {6, OpenJob{}},
          {7, OpenJob{options}},
          {8, CloseJob{kJob}},
          {9, CancelJob{kJob}},
          {10, Drain{}},
          {18446744073709551615U, Undrain{}}};
}

std::vector<ControlReply> control_replies() {
  JobsPage page;
  page.has_more = true;
  for (const JobState state :
       {JobState::kRunning, JobState::kCompleted, JobState::kCancelled, JobState::kLost}) {
    page.jobs.push_back(job(state));
  }
  page.jobs.emplace_back();
  return {{1, refusal()},      {2, Nothing{}},
          {3, DaemonStatus{}}, {4, status()},
          {5, JobsPage{}},     {6, page},
          {7, JobInfo{}},      {8, job(JobState::kLost)},
          {9, JobId{}},        {18446744073709551615U, kJob}};
}

}  // namespace deepinfer::ipc::samples
