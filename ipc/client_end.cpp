#include "ipc/client_end.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "ipc/adaptive_spin.h"
#include "ipc/completions.h"
#include "ipc/doorbell.h"
#include "ipc/ring.h"
#include "ipc/segment.h"
#include "ipc/submissions.h"

namespace deepinfer::ipc {
namespace {

using std::chrono::nanoseconds;
using Steady = std::chrono::steady_clock;

constexpr int kLooksPerClock = 32;  // a look takes a fraction of what reading the clock takes
constexpr std::uint32_t kSleepsPerAsking = 64;               // asking takes a tenth of a sleep
constexpr nanoseconds kLongestWait = std::chrono::hours{1};  // more could overflow the clock

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

Status check_words(const DaemonWords& words, std::uint64_t session) {
  if (words.magic == kMagic && words.abi_major == kAbiMajor && words.session == session) {
    return Done{};
  }
  return fail(ErrorCode::kInvalidArgument, "a segment of session " + std::to_string(words.session) +
                                               " and version " + std::to_string(words.abi_major) +
                                               " instead of " + std::to_string(session) + " and " +
                                               std::to_string(kAbiMajor));
}

Error with_name(const char* segment, const Error& error) {
  return fail(error.code, std::string(segment) + ": " + error.message);
}

Result<Mapping> checked_mapping(const char* segment, const FileDescriptor& descriptor,
                                std::uint64_t bytes, Sealing sealing) {
  const Status checked = check_memory(descriptor.number(), bytes, sealing);
  if (!checked) return with_name(segment, checked.error());
  const Access access = sealing == Sealing::kBothWrite ? Access::kReadWrite : Access::kRead;
  auto mapping = Mapping::map(descriptor.number(), bytes, access);
  if (!mapping) return with_name(segment, mapping.error());
  return mapping;
}

}  // namespace

struct ClientEnd::Parts {
  Parts(const ClientMemory& at, SpanArena spans, FileDescriptor bell)
      : memory(at),
        arena(std::move(spans)),
        doorbell(std::move(bell)),
        submissions(at),
        completions(at) {
    ClientWords* const words = new (at.c2d) ClientWords();
    words->published.value.store(at.start.submissions, std::memory_order_relaxed);
    words->consumed.value.store(at.start.completions, std::memory_order_relaxed);
    words->released.value.store(at.start.results, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint32_t flags() const {
    return memory.daemon().flags.value.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool has_news() const { return completions.has_news() || flags() != flags_seen; }
  void ring_if_asleep();
  void spin_until(Steady::time_point until) const;
  void sleep_until(Steady::time_point until);

  std::optional<Mapping> c2d;
  std::optional<Mapping> d2c;
  const ClientMemory memory;

  // Of whoever submits.
  SpanArena arena;
  const FileDescriptor doorbell;
  SubmissionWriter submissions;
  std::uint32_t rung = 0;  // for which of the daemon's sleeps

  // Of whoever receives.
  CompletionReader completions;
  AdaptiveSpin spin;
  std::uint32_t sleep = 0;               // the last one's number
  int processors = usable_processors();  // asked again after some sleeps
  std::uint32_t sleeps_until_asked = kSleepsPerAsking;
  std::uint32_t flags_seen = 0;  // by the last wait
};

void ClientEnd::Parts::ring_if_asleep() {
  full_fence();  // after the release store of `published`; pairs with DaemonEnd::prepare_sleep
  if (needs_waking(memory.daemon().sleeping.value.load(std::memory_order_relaxed), rung)) {
    ring_doorbell(doorbell.number());
  }
}

void ClientEnd::Parts::spin_until(Steady::time_point until) const {
  do {
    for (int look = 0; look < kLooksPerClock; ++look) {
      if (has_news()) return;
      pause_processor();
    }
  } while (Steady::now() < until);
}

void ClientEnd::Parts::sleep_until(Steady::time_point until) {
  std::atomic<std::uint32_t>& sleeping = memory.client().sleeping.value;
  const std::atomic<std::uint32_t>& published = memory.daemon().published.value;
  sleep = next_sleep(sleep);
  sleeping.store(sleep, std::memory_order_relaxed);
  full_fence();  // pairs with DaemonEnd::wake
  // First the word, then the question whether it is news: what comes later changes the word.
  const std::uint32_t seen = published.load(std::memory_order_acquire);
  if (!has_news()) wait_on_word(published, seen, until - Steady::now());
  sleeping.store(0, std::memory_order_relaxed);
}

Result<std::unique_ptr<ClientEnd>> ClientEnd::attach(SessionDescriptors descriptors,
                                                     const Geometry& geometry,
                                                     std::uint64_t session) {
  if (!is_valid(geometry)) {
    return fail(ErrorCode::kInvalidArgument, "no session can have these sizes");
  }
  if (!descriptors.doorbell.is_open()) return fail(ErrorCode::kInvalidArgument, "no doorbell");
  DEEPINFER_TRY(Mapping c2d,
                checked_mapping("c2d", descriptors.c2d, c2d_bytes(geometry), Sealing::kBothWrite));
  DEEPINFER_TRY(Mapping d2c,
                checked_mapping("d2c", descriptors.d2c, d2c_bytes(geometry), Sealing::kOwnerOnly));
  const ClientMemory memory{c2d.data(), d2c.data(), geometry, {}};
  DEEPINFER_TRY([[maybe_unused]] const Done checked, check_words(memory.daemon(), session));
  DEEPINFER_TRY(std::unique_ptr<ClientEnd> end, over(memory, std::move(descriptors.doorbell)));
  end->parts_->c2d = std::move(c2d);
  end->parts_->d2c = std::move(d2c);

  ClientWords& words = memory.client();
  words.magic = kMagic;
  words.abi_major = kAbiMajor;
  words.abi_minor = kAbiMinor;
  words.session = session;
  return end;
}

Result<std::unique_ptr<ClientEnd>> ClientEnd::over(const ClientMemory& memory,
                                                   FileDescriptor doorbell) {
  std::byte* const begin = memory.c2d + arena_offset(memory.geometry);
  DEEPINFER_TRY(SpanArena arena, SpanArena::create({begin, memory.geometry.arena_bytes}));
  auto parts = std::make_unique<Parts>(memory, std::move(arena), std::move(doorbell));
  return std::unique_ptr<ClientEnd>(new ClientEnd(std::move(parts)));
}

ClientEnd::ClientEnd(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ClientEnd::~ClientEnd() = default;

SpanArena& ClientEnd::arena() { return parts_->arena; }

Result<bool> ClientEnd::submit(Operation operation, std::uint64_t user_data,
                               std::span<const std::uint64_t> descriptor) {
  DEEPINFER_TRY(const bool is_out,
                parts_->submissions.write_inline(operation, user_data, descriptor));
  if (is_out) parts_->ring_if_asleep();
  return is_out;
}

Result<bool> ClientEnd::submit_from_arena(Operation operation, std::uint64_t user_data,
                                          Span descriptor) {
  DEEPINFER_TRY(const bool is_out,
                parts_->submissions.write_from_arena(operation, user_data, descriptor));
  if (is_out) parts_->ring_if_asleep();
  return is_out;
}

Result<bool> ClientEnd::next(Completion& completion, std::vector<std::byte>& payload) {
  return parts_->completions.next(completion, payload);
}

void ClientEnd::wait(nanoseconds timeout, nanoseconds spin) {
  Parts& parts = *parts_;
  timeout = std::min(timeout, kLongestWait);
  if (timeout > nanoseconds{0} && !parts.has_news()) {
    const auto begin = Steady::now();
    const nanoseconds budget = parts.spin.next(std::min(spin, timeout), parts.processors);
    if (budget > nanoseconds{0}) parts.spin_until(begin + budget);
    if (!parts.has_news()) {
      parts.sleep_until(begin + timeout);
      if (--parts.sleeps_until_asked == 0) {
        parts.sleeps_until_asked = kSleepsPerAsking;
        parts.processors = usable_processors();
      }
    }
    parts.spin.learn(Steady::now() - begin);
  }
  parts.flags_seen = parts.flags();
}

std::uint32_t ClientEnd::flags() const { return parts_->flags(); }

}  // namespace deepinfer::ipc
