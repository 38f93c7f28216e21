#include "tests/bench/ipc/job.h"

#include <algorithm>
#include <utility>

namespace deepinfer::bench {
namespace {

constexpr std::int64_t kMaxTokens = 128;

ipc::SubmitMessage realistic_message() {
  ipc::SubmitMessage message;
  message.job = JobId{.high = 0x9e3779b97f4a7c15, .low = 0xbf58476d1ce4e5b9};
  message.stream = false;
  message.request.custom_id = "extraction-2023-000417";
  message.request.priority = 1;
  message.request.job_seed = 7;
  SamplingParams& sampling = message.request.sampling;
  sampling.max_tokens = kMaxTokens;
  sampling.temperature = 0.7;
  sampling.top_p = 0.95;
  sampling.top_k = 40;
  sampling.seed = 20231;
  sampling.stop = {"\n\nUser:", "</record>"};
  sampling.stop_token_ids = {1, 7};
  sampling.logit_bias = {{11, -1.5}, {198, 0.5}};
  message.prompt = ipc::ChatSpans{.messages = {.offset = 4096, .bytes = 1733},
                                  .tools = {.offset = 8192, .bytes = 912},
                                  .response_format = {.offset = 0, .bytes = 0},
                                  .thinking = false,
                                  .reasoning_effort = 75};
  return message;
}

}  // namespace

Result<Job> make_job() {
  Job job;
  ipc::encode(realistic_message(), job.descriptor);
  if (ipc::bytes_of(job.descriptor).size() > ipc::kMaxInlineBytes) {
    return fail(ErrorCode::kInternal, "the descriptor does not fit in a slot");
  }
  if (!decode(job.descriptor)) {
    return fail(ErrorCode::kInternal, "the codec does not read what it wrote");
  }
  return job;
}

Message message_of(const Job& job) {
  Message message{};
  message.header.operation = static_cast<std::uint16_t>(ipc::Operation::kSubmit);
  message.header.descriptor_offset = ipc::kInline;
  message.header.descriptor_bytes =
      static_cast<std::uint32_t>(ipc::bytes_of(job.descriptor).size());
  std::copy(job.descriptor.begin(), job.descriptor.end(), message.descriptor.begin());
  return message;
}

bool decode(ipc::WordView descriptor) {
  const auto decoded = ipc::decode_submit(descriptor);
  return decoded && decoded->request.sampling.max_tokens == kMaxTokens;
}

std::optional<std::uint64_t> decode(const Message& message, std::size_t size_bytes) {
  const std::size_t bytes = message.header.descriptor_bytes;
  if (bytes % 8 != 0 || bytes > ipc::kMaxInlineBytes ||
      size_bytes != sizeof(message.header) + bytes) {
    return std::nullopt;
  }
  const ipc::WordView descriptor(message.descriptor.data(), bytes / 8);
  if (!decode(descriptor)) return std::nullopt;
  return message.header.user_data;
}

}  // namespace deepinfer::bench
