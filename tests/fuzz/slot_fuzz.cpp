#include "tests/fuzz/slot_fuzz.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "ipc/daemon_end.h"

namespace deepinfer::ipc {
namespace {

constexpr Geometry kGeometry{.submission_entries = 2,
                             .completion_entries = 2,
                             .arena_bytes = 64U << 10U,
                             .result_bytes = 64U << 10U};

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using Memory = std::unique_ptr<std::byte, Free>;

// Exactly as long as the segment: a sanitizer sees the first byte that is read beyond it.
Memory zeroed(std::uint64_t bytes) {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kPage, bytes));
  if (memory == nullptr) std::abort();
  std::memset(memory, 0, bytes);
  return Memory(memory);
}

// Takes numbers off the front of the input; zeros when it has ended.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  void read(void* to, std::size_t bytes) {
    std::memset(to, 0, bytes);
    const std::size_t count = std::min(bytes, left_.size());
    if (count > 0) std::memcpy(to, left_.data(), count);
    left_ = left_.subspan(count);
  }
  template <typename Integer>
  Integer number() {
    Integer value = 0;
    read(&value, sizeof(value));
    return value;
  }

 private:
  std::span<const std::uint8_t> left_;
};

// An error that is said in words, and stays.
template <typename Again>
bool is_the_end(const Error& error, Again again) {
  const auto second = again();
  return error.code == ErrorCode::kDataLoss && !error.message.empty() && !second &&
         second.error().code == ErrorCode::kDataLoss;
}

bool is_sound(const Submission& submission) {
  if (!submission.problem.empty()) return submission.descriptor.empty();
  return submission.descriptor.size() * sizeof(std::uint64_t) <= kMaxDescriptorBytes;
}

// Until the ring is empty or the session has ended.
bool takes_are_handled(DaemonEnd& daemon) {
  Submission submission;
  for (std::uint32_t i = 0; i <= kGeometry.submission_entries; ++i) {
    const auto has_one = daemon.take(submission);
    if (!has_one) return is_the_end(has_one.error(), [&] { return daemon.take(submission); });
    if (!*has_one) return true;
    if (!is_sound(submission)) return false;
  }
  return false;  // more than there can be
}

bool span_is_handled(const DaemonEnd& daemon, Input& input) {
  const Span span{input.number<std::uint64_t>(), input.number<std::uint16_t>()};
  std::vector<std::byte> copy(span.bytes);
  const auto copied = daemon.copy_span(span, copy);
  return copied.has_value() || copied.error().code == ErrorCode::kInvalidArgument;
}

// The client's indices change between two completions, as it likes.
bool publishes_are_handled(DaemonEnd& daemon, ClientWords& words, Input& input) {
  const std::vector<std::byte> payload(32'768);
  for (int i = 0; i < 6; ++i) {
    words.consumed.value.store(input.number<std::uint32_t>());
    words.released.value.store(input.number<std::uint64_t>());
    const std::span<const std::byte> some(payload.data(), input.number<std::uint16_t>() / 2);
    const auto publish = [&] { return daemon.publish(CompletionKind::kResult, 1, some); };
    const auto is_out = publish();
    if (!is_out) return is_the_end(is_out.error(), publish);
    daemon.wake();
  }
  return true;
}

}  // namespace

bool slot_is_handled(const std::uint8_t* data, std::size_t size) {
  const Memory c2d = zeroed(c2d_bytes(kGeometry));
  const Memory d2c = zeroed(d2c_bytes(kGeometry));
  const auto daemon = DaemonEnd::over({c2d.get(), d2c.get(), kGeometry, {}}, FileDescriptor());
  auto& words = *reinterpret_cast<ClientWords*>(c2d.get());

  Input input(data, size);
  words.published.value.store(input.number<std::uint32_t>());
  words.sleeping.value.store(input.number<std::uint32_t>());
  for (std::uint32_t i = 0; i < kGeometry.submission_entries; ++i) {
    std::byte* const slot = c2d.get() + kPage + i * kSubmissionSlotBytes;
    input.read(slot, sizeof(SubmissionHeader) + 64);
  }
  std::byte* const arena = c2d.get() + arena_offset(kGeometry);
  input.read(arena, 256);
  input.read(arena + kGeometry.arena_bytes - 64, 64);
  return takes_are_handled(*daemon) && span_is_handled(*daemon, input) &&
         publishes_are_handled(*daemon, words, input);
}

}  // namespace deepinfer::ipc
