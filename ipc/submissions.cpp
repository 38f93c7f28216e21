#include "ipc/submissions.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace deepinfer::ipc {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::size_t slot_offset(std::uint32_t index, const Geometry& geometry) {
  return kPage + std::size_t{index & (geometry.submission_entries - 1)} * kSubmissionSlotBytes;
}

std::optional<Operation> known(std::uint16_t operation) {
  switch (static_cast<Operation>(operation)) {
    case Operation::kNothing:
    case Operation::kSubmit:
    case Operation::kCancel:
      return static_cast<Operation>(operation);
  }
  return std::nullopt;
}

// What is wrong with where the descriptor is said to lie; empty: nothing.
std::string problem_of_descriptor(const SubmissionHeader& header, std::uint64_t arena_bytes) {
  const std::uint64_t bytes = header.descriptor_bytes;
  if (bytes % kWord != 0) {
    return "a descriptor of " + std::to_string(bytes) + " bytes is not a whole number of words";
  }
  if (header.descriptor_offset == kInline) {
    if (bytes <= kMaxInlineBytes) return {};
    return "a descriptor of " + std::to_string(bytes) + " bytes in a slot for " +
           std::to_string(kMaxInlineBytes);
  }
  if (bytes > kMaxDescriptorBytes) {
    return "a descriptor of " + std::to_string(bytes) + " bytes, at most " +
           std::to_string(kMaxDescriptorBytes) + " are allowed";
  }
  if (header.descriptor_offset % kWord != 0) {
    return "a descriptor at " + std::to_string(header.descriptor_offset) + ", which is not aligned";
  }
  if (!lies_within(header.descriptor_offset, bytes, arena_bytes)) {
    return "a descriptor of " + std::to_string(bytes) + " bytes at " +
           std::to_string(header.descriptor_offset) + " leaves the arena of " +
           std::to_string(arena_bytes);
  }
  return {};
}

std::string problem_of(const SubmissionHeader& header, std::uint64_t arena_bytes) {
  const auto is_set = [](std::uint64_t word) { return word != 0; };
  if (!known(header.operation)) {
    return "operation " + std::to_string(header.operation) + " is unknown";
  }
  if (header.flags != 0 || header.reserved0 != 0 ||
      std::any_of(std::begin(header.reserved), std::end(header.reserved), is_set)) {
    return "a field that must be zero is not";
  }
  if (known(header.operation) == Operation::kCancel && header.descriptor_bytes != 0) {
    return "a cancellation with a descriptor";
  }
  return problem_of_descriptor(header, arena_bytes);
}

}  // namespace

SubmissionWriter::SubmissionWriter(const ClientMemory& memory)
    : memory_(memory), published_(memory.start.submissions), consumed_(memory.start.submissions) {}

Result<bool> SubmissionWriter::write_inline(Operation operation, std::uint64_t user_data,
                                            std::span<const std::uint64_t> descriptor) {
  if (descriptor.size_bytes() > kMaxInlineBytes) {
    return fail(ErrorCode::kInvalidArgument, "a descriptor of " +
                                                 std::to_string(descriptor.size_bytes()) +
                                                 " bytes must lie in the arena, a slot holds " +
                                                 std::to_string(kMaxInlineBytes));
  }
  DEEPINFER_TRY(const bool is_free, has_room());
  if (!is_free) return false;
  SubmissionHeader header;
  header.operation = static_cast<std::uint16_t>(operation);
  header.user_data = user_data;
  header.descriptor_offset = kInline;
  header.descriptor_bytes = static_cast<std::uint32_t>(descriptor.size_bytes());
  publish(header, std::as_bytes(descriptor));
  return true;
}

Result<bool> SubmissionWriter::write_from_arena(Operation operation, std::uint64_t user_data,
                                                Span descriptor) {
  if (descriptor.bytes > kMaxDescriptorBytes || descriptor.bytes % kWord != 0 ||
      descriptor.offset % kWord != 0 ||
      !lies_within(descriptor.offset, descriptor.bytes, memory_.geometry.arena_bytes)) {
    return fail(ErrorCode::kInvalidArgument, "no descriptor can have " +
                                                 std::to_string(descriptor.bytes) + " bytes at " +
                                                 std::to_string(descriptor.offset));
  }
  DEEPINFER_TRY(const bool is_free, has_room());
  if (!is_free) return false;
  SubmissionHeader header;
  header.operation = static_cast<std::uint16_t>(operation);
  header.user_data = user_data;
  header.descriptor_offset = descriptor.offset;
  header.descriptor_bytes = static_cast<std::uint32_t>(descriptor.bytes);
  publish(header, {});
  return true;
}

Result<bool> SubmissionWriter::has_room() {
  if (broken_) return *broken_;
  const auto used = [&] { return published_ - consumed_.seen(); };
  // The daemon's line of memory is asked for only when it matters.
  if (used() < memory_.geometry.submission_entries) return true;
  if (!consumed_.follow(memory_.daemon().consumed.value, published_)) {
    broken_ = fail(ErrorCode::kDataLoss, "the daemon took submissions that were not there");
    return *broken_;
  }
  return used() < memory_.geometry.submission_entries;
}

void SubmissionWriter::publish(SubmissionHeader header, std::span<const std::byte> inline_bytes) {
  header.sequence = published_;
  std::byte* const slot = memory_.c2d + slot_offset(published_, memory_.geometry);
  std::memcpy(slot, &header, sizeof(header));
  if (!inline_bytes.empty()) {
    std::memcpy(slot + sizeof(header), inline_bytes.data(), inline_bytes.size());
  }
  ClientWords& words = memory_.client();
  words.published.value.store(++published_, std::memory_order_release);
  words.progress.value.store(++progress_, std::memory_order_relaxed);
}

SubmissionReader::SubmissionReader(const DaemonMemory& memory)
    : memory_(memory), consumed_(memory.start.submissions), published_(memory.start.submissions) {}

Result<bool> SubmissionReader::take(Submission& out) {
  if (broken_) return *broken_;
  if (published_.seen() == consumed_) {
    const std::uint32_t limit = consumed_ + memory_.geometry.submission_entries;
    if (!published_.follow(memory_.client().published.value, limit)) {
      return break_off("its index of submissions left the window from " +
                       std::to_string(consumed_) + " to " + std::to_string(limit));
    }
    if (published_.seen() == consumed_) return false;
  }
  SubmissionHeader header;
  copy_once(&header, memory_.c2d + slot_offset(consumed_, memory_.geometry), sizeof(header));
  if (header.sequence != consumed_) {
    return break_off("submission " + std::to_string(consumed_) + " calls itself " +
                     std::to_string(header.sequence));
  }
  read_slot(out, header);
  memory_.daemon().consumed.value.store(++consumed_, std::memory_order_release);
  return true;
}

void SubmissionReader::read_slot(Submission& out, const SubmissionHeader& header) {
  out.operation = known(header.operation).value_or(Operation::kNothing);
  out.user_data = header.user_data;
  out.problem = problem_of(header, memory_.geometry.arena_bytes);
  const std::size_t bytes = out.problem.empty() ? header.descriptor_bytes : 0;
  out.descriptor.resize(bytes / kWord);
  if (bytes == 0) return;
  if (header.descriptor_offset == kInline) {
    const std::byte* const slot = memory_.c2d + slot_offset(consumed_, memory_.geometry);
    copy_once(out.descriptor.data(), slot + sizeof(header), bytes);
    return;
  }
  const std::byte* const arena = memory_.c2d + arena_offset(memory_.geometry);
  copy_once(out.descriptor.data(), arena + header.descriptor_offset, bytes);
}

Status SubmissionReader::copy_span(Span span, std::span<std::byte> out) const {
  if (span.bytes != out.size() ||
      !lies_within(span.offset, span.bytes, memory_.geometry.arena_bytes)) {
    return fail(ErrorCode::kInvalidArgument, "a span of " + std::to_string(span.bytes) +
                                                 " bytes at " + std::to_string(span.offset) +
                                                 " leaves the arena of " +
                                                 std::to_string(memory_.geometry.arena_bytes));
  }
  if (out.empty()) return Done{};
  copy_once(out.data(), memory_.c2d + arena_offset(memory_.geometry) + span.offset, out.size());
  return Done{};
}

bool SubmissionReader::has_news() const {
  return memory_.client().published.value.load(std::memory_order_acquire) != consumed_;
}

Error SubmissionReader::break_off(std::string reason) {
  broken_ = fail(ErrorCode::kDataLoss, "the client broke the protocol: " + std::move(reason));
  return *broken_;
}

}  // namespace deepinfer::ipc
