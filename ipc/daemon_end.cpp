#include "ipc/daemon_end.h"

#include <new>
#include <optional>
#include <utility>

#include "ipc/completions.h"
#include "ipc/doorbell.h"
#include "ipc/ring.h"
#include "ipc/segment.h"
#include "ipc/submissions.h"

namespace deepinfer::ipc {
namespace {

struct Segment {
  FileDescriptor descriptor;
  Mapping mapping;
};

Result<Segment> create_segment(const char* name, std::uint64_t bytes, Access access,
                               Sealing sealing) {
  DEEPINFER_TRY(FileDescriptor descriptor, create_memory(name, bytes));
  // Before it is sealed: the seal against writing spares the mappings that exist.
  DEEPINFER_TRY(Mapping mapping, Mapping::map(descriptor.number(), bytes, access));
  DEEPINFER_TRY([[maybe_unused]] const Done sealed, seal_memory(descriptor.number(), sealing));
  return Segment{std::move(descriptor), std::move(mapping)};
}

}  // namespace

struct DaemonEnd::Parts {
  Parts(const DaemonMemory& at, FileDescriptor bell)
      : memory(at), doorbell(std::move(bell)), submissions(at), completions(at) {
    DaemonWords* const words = new (at.d2c) DaemonWords();
    words->published.value.store(at.start.completions, std::memory_order_relaxed);
    words->consumed.value.store(at.start.submissions, std::memory_order_relaxed);
  }

  std::optional<Segment> c2d;
  std::optional<Segment> d2c;
  const DaemonMemory memory;
  const FileDescriptor doorbell;
  SubmissionReader submissions;
  CompletionWriter completions;
  std::uint32_t sleep = 0;  // the last one's number
  std::uint32_t woken = 0;  // from which of the client's sleeps
};

Result<std::unique_ptr<DaemonEnd>> DaemonEnd::create(const Geometry& geometry,
                                                     std::uint64_t session, std::uint64_t epoch) {
  if (!is_valid(geometry)) {
    return fail(ErrorCode::kInvalidArgument, "no session can have these sizes");
  }
  DEEPINFER_TRY(Segment c2d, create_segment("deepinfer-c2d", c2d_bytes(geometry), Access::kRead,
                                            Sealing::kBothWrite));
  DEEPINFER_TRY(Segment d2c, create_segment("deepinfer-d2c", d2c_bytes(geometry),
                                            Access::kReadWrite, Sealing::kOwnerOnly));
  DEEPINFER_TRY(FileDescriptor doorbell, create_doorbell());
  const DaemonMemory memory{c2d.mapping.data(), d2c.mapping.data(), geometry, {}};
  auto parts = std::make_unique<Parts>(memory, std::move(doorbell));
  parts->c2d = std::move(c2d);
  parts->d2c = std::move(d2c);

  DaemonWords& words = memory.daemon();
  words.magic = kMagic;
  words.abi_major = kAbiMajor;
  words.abi_minor = kAbiMinor;
  words.session = session;
  words.epoch = epoch;
  return std::unique_ptr<DaemonEnd>(new DaemonEnd(std::move(parts)));
}

std::unique_ptr<DaemonEnd> DaemonEnd::over(const DaemonMemory& memory, FileDescriptor doorbell) {
  return std::unique_ptr<DaemonEnd>(
      new DaemonEnd(std::make_unique<Parts>(memory, std::move(doorbell))));
}

DaemonEnd::DaemonEnd(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
DaemonEnd::~DaemonEnd() = default;

std::array<int, 3> DaemonEnd::client_descriptors() const {
  const auto number = [](const std::optional<Segment>& segment) {
    return segment ? segment->descriptor.number() : -1;
  };
  return {number(parts_->c2d), number(parts_->d2c), doorbell()};
}

void DaemonEnd::forget_client_descriptors() {
  for (std::optional<Segment>* segment : {&parts_->c2d, &parts_->d2c}) {
    if (*segment) const FileDescriptor closed(std::move((*segment)->descriptor));
  }
}

int DaemonEnd::doorbell() const { return parts_->doorbell.number(); }

Result<bool> DaemonEnd::take(Submission& out) { return parts_->submissions.take(out); }

Status DaemonEnd::copy_span(Span span, std::span<std::byte> out) const {
  return parts_->submissions.copy_span(span, out);
}

Result<bool> DaemonEnd::publish(CompletionKind kind, std::uint64_t user_data,
                                std::span<const std::byte> payload) {
  return parts_->completions.publish(kind, user_data, payload);
}

void DaemonEnd::wake() {
  full_fence();  // after the release store of `published` or `flags`; pairs with ClientEnd::wait
  const std::uint32_t sleep =
      parts_->memory.client().sleeping.value.load(std::memory_order_relaxed);
  if (needs_waking(sleep, parts_->woken)) {
    wake_word(parts_->memory.daemon().published.value);
  }
}

bool DaemonEnd::prepare_sleep() {
  std::atomic<std::uint32_t>& sleeping = parts_->memory.daemon().sleeping.value;
  parts_->sleep = next_sleep(parts_->sleep);
  sleeping.store(parts_->sleep, std::memory_order_relaxed);
  full_fence();  // pairs with ClientEnd::submit
  if (!parts_->submissions.has_news()) return true;
  sleeping.store(0, std::memory_order_relaxed);
  return false;
}

void DaemonEnd::end_sleep() {
  parts_->memory.daemon().sleeping.value.store(0, std::memory_order_relaxed);
}

void DaemonEnd::set_flags(std::uint32_t flags) {
  parts_->memory.daemon().flags.value.store(flags, std::memory_order_release);
  parts_->woken = 0;  // whatever it was woken for
  wake();
  // Flags are not the futex word: this wake-up may come before the client waits, and then the next one for the
  // same sleep must not be left out.
  parts_->woken = 0;
}

const Geometry& DaemonEnd::geometry() const { return parts_->memory.geometry; }

}  // namespace deepinfer::ipc
