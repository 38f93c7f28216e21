#include "ipc/completions.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace deepinfer::ipc {
namespace {

constexpr std::uint64_t kAlignment = 8;

// Once all payloads are released and more than this part of the arena is used, the next one begins at the
// arena's begin: a session whose client keeps up touches few pages instead of, in the end, all of them. The
// 64-bit positions, which a jump uses up, still last for 2^60 bytes.
constexpr std::uint64_t kKeptPart = 16;

std::size_t slot_offset(std::uint32_t index, const Geometry& geometry) {
  return kPage + std::size_t{index & (geometry.completion_entries - 1)} * kCompletionSlotBytes;
}

bool is_known(std::uint16_t kind) {
  switch (static_cast<CompletionKind>(kind)) {
    case CompletionKind::kNothingDone:
    case CompletionKind::kAccepted:
    case CompletionKind::kRefused:
    case CompletionKind::kTokens:
    case CompletionKind::kResultPart:
    case CompletionKind::kResult:
    case CompletionKind::kLost:
      return true;
  }
  return false;
}

}  // namespace

CompletionWriter::CompletionWriter(const DaemonMemory& memory)
    : memory_(memory),
      published_(memory.start.completions),
      end_(memory.start.results),
      consumed_(memory.start.completions),
      released_(memory.start.results) {}

Result<bool> CompletionWriter::publish(CompletionKind kind, std::uint64_t user_data,
                                       std::span<const std::byte> payload) {
  if (broken_) return *broken_;
  const std::uint64_t most =
      std::min<std::uint64_t>(kMaxPayloadBytes, memory_.geometry.result_bytes / 2);
  if (payload.size() > most) {
    return fail(ErrorCode::kInvalidArgument, "a payload of " + std::to_string(payload.size()) +
                                                 " bytes, at most " + std::to_string(most) +
                                                 " are possible");
  }
  if (!consumed_.follow(memory_.client().consumed.value, published_)) {
    return break_off("its index of completions left the window from " +
                     std::to_string(consumed_.seen()) + " to " + std::to_string(published_));
  }
  if (published_ - consumed_.seen() >= memory_.geometry.completion_entries) return false;

  Completion completion;
  completion.sequence = published_;
  completion.kind = static_cast<std::uint16_t>(kind);
  completion.user_data = user_data;
  if (!payload.empty()) {
    DEEPINFER_TRY(const bool is_placed, place(payload, completion));
    if (!is_placed) return false;
  }
  completion.release = end_;
  std::memcpy(memory_.d2c + slot_offset(published_, memory_.geometry), &completion,
              sizeof(completion));
  memory_.daemon().published.value.store(++published_, std::memory_order_release);
  return true;
}

Result<bool> CompletionWriter::place(std::span<const std::byte> payload, Completion& completion) {
  if (!released_.follow(memory_.client().released.value, end_)) {
    return break_off("its position in the results left the window from " +
                     std::to_string(released_.seen()) + " to " + std::to_string(end_));
  }
  const std::uint64_t size = memory_.geometry.result_bytes;
  const std::uint64_t bytes = (payload.size() + kAlignment - 1) / kAlignment * kAlignment;
  const std::uint64_t skip = bytes_to_skip(bytes);
  const std::uint64_t used = end_ - released_.seen();
  if (skip + bytes > size - used) return false;
  completion.offset = (end_ + skip) % size;
  completion.bytes = static_cast<std::uint32_t>(payload.size());
  std::memcpy(memory_.d2c + result_offset(memory_.geometry) + completion.offset, payload.data(),
              payload.size());
  end_ += skip + bytes;
  return true;
}

std::uint64_t CompletionWriter::bytes_to_skip(std::uint64_t bytes) const {
  const std::uint64_t size = memory_.geometry.result_bytes;
  const std::uint64_t position = end_ % size;
  const bool is_empty = released_.seen() == end_;
  // What is skipped counts as used until the payload is released; so `bytes` must fit before `position`.
  const bool starts_over = is_empty && position >= size / kKeptPart && bytes <= position;
  return starts_over || bytes > size - position ? size - position : 0;
}

Error CompletionWriter::break_off(std::string reason) {
  broken_ = fail(ErrorCode::kDataLoss, "the client broke the protocol: " + std::move(reason));
  return *broken_;
}

CompletionReader::CompletionReader(const ClientMemory& memory)
    : memory_(memory),
      consumed_(memory.start.completions),
      released_(memory.start.results),
      published_(memory.start.completions) {}

Result<bool> CompletionReader::next(Completion& completion, std::vector<std::byte>& payload) {
  if (broken_) return *broken_;
  if (published_.seen() == consumed_) {
    const std::uint32_t limit = consumed_ + memory_.geometry.completion_entries;
    if (!published_.follow(memory_.daemon().published.value, limit)) {
      return break_off("its index of completions left the window");
    }
    if (published_.seen() == consumed_) return false;
  }
  copy_once(&completion, memory_.d2c + slot_offset(consumed_, memory_.geometry),
            sizeof(completion));
  if (std::string problem = problem_of(completion); !problem.empty()) {
    return break_off(std::move(problem));
  }
  payload.resize(completion.bytes);
  if (completion.bytes > 0) {
    copy_once(payload.data(), memory_.d2c + result_offset(memory_.geometry) + completion.offset,
              completion.bytes);
  }
  ClientWords& words = memory_.client();
  if (completion.release != released_) {
    released_ = completion.release;
    words.released.value.store(released_, std::memory_order_release);
  }
  words.consumed.value.store(++consumed_, std::memory_order_release);
  return true;
}

bool CompletionReader::has_news() const {
  return memory_.daemon().published.value.load(std::memory_order_acquire) != consumed_;
}

std::string CompletionReader::problem_of(const Completion& completion) const {
  if (completion.sequence != consumed_) {
    return "completion " + std::to_string(consumed_) + " calls itself " +
           std::to_string(completion.sequence);
  }
  if (!is_known(completion.kind) || completion.flags != 0) {
    return "a completion of kind " + std::to_string(completion.kind) + " with flags " +
           std::to_string(completion.flags);
  }
  if (completion.bytes > kMaxPayloadBytes ||
      !lies_within(completion.offset, completion.bytes, memory_.geometry.result_bytes)) {
    return "a payload of " + std::to_string(completion.bytes) + " bytes at " +
           std::to_string(completion.offset);
  }
  if (completion.release - released_ > memory_.geometry.result_bytes) {
    return "a payload that is released at " + std::to_string(completion.release);
  }
  return {};
}

Error CompletionReader::break_off(std::string reason) {
  broken_ = fail(ErrorCode::kDataLoss, "the daemon broke the protocol: " + std::move(reason));
  return *broken_;
}

}  // namespace deepinfer::ipc
