// The two shared-memory segments of a session, byte by byte. docs/shared-memory.md has the picture.
//
//   c2d, written by the client, mapped read-only by the daemon: [ClientWords, 4096 bytes]
//        [submission slots of 1024 bytes] [request arena]
//   d2c, written by the daemon, mapped read-only by the client: [DaemonWords, 4096 bytes]
//        [completion slots of 64 bytes] [result arena]
//
// Every word has one writer, which the mappings enforce. Indices run freely and wrap; what is between
// two of them is their difference, and more than the entries means that the peer is broken or hostile.
// The sizes are the daemon's, told in Welcome; neither side ever reads a size from shared memory.
// Units:    bytes; entries
// Threads:  one producer and one consumer for each ring
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace deepinfer::ipc {

inline constexpr std::uint32_t kMagic = 0x46494444;  // "DDIF", little-endian
// A peer with another major version is refused; a minor version may only add feature bits.
inline constexpr std::uint16_t kAbiMajor = 1;
inline constexpr std::uint16_t kAbiMinor = 0;

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kSubmissionSlotBytes = 1024;
inline constexpr std::size_t kCompletionSlotBytes = 64;
inline constexpr std::size_t kMaxDescriptorBytes = 4U << 20U;  // of one submission, in the arena
// The greatest piece of a result; a greater one comes in several completions.
inline constexpr std::size_t kMaxPayloadBytes = 256U << 10U;

// What the daemon grants in Welcome.
struct Geometry {
  std::uint32_t submission_entries = 256;     // a power of two, 2 .. 65536
  std::uint32_t completion_entries = 1024;    // a power of two, 2 .. 65536
  std::uint64_t arena_bytes = 64ULL << 20U;   // a multiple of kPage, 64 KiB .. 64 GiB
  std::uint64_t result_bytes = 64ULL << 20U;  // the same
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

enum class Operation : std::uint16_t {
  kNothing = 0,  // answered with kNothingDone: measures the way
  kSubmit = 1,   // descriptor: SubmitMessage
  kCancel = 2,   // user_data: the request to cancel; no descriptor
};

// First 64 bytes of a submission slot; up to 960 bytes of descriptor follow.
struct SubmissionHeader {
  std::uint32_t sequence = 0;           // the slot's index: the value of `published` before it
  std::uint16_t operation = 0;          // Operation
  std::uint16_t flags = 0;              // zero
  std::uint64_t user_data = 0;          // chosen by the client; returned in every completion
  std::uint64_t descriptor_offset = 0;  // in the request arena; kInline: it follows the header
  std::uint32_t descriptor_bytes = 0;   // a multiple of 8
  std::uint32_t reserved0 = 0;          // zero
  std::uint64_t reserved[4] = {};       // zero
};
inline constexpr std::uint64_t kInline = ~std::uint64_t{0};
inline constexpr std::size_t kMaxInlineBytes = kSubmissionSlotBytes - sizeof(SubmissionHeader);

enum class CompletionKind : std::uint16_t {
  kNothingDone = 1,
  kAccepted = 2,    // the request's spans are copied: the client frees them
  kRefused = 3,     // likewise; payload: RequestError; nothing more comes for this request
  kTokens = 4,      // payload: TokenEvent; may be left out when there is no room
  kResultPart = 5,  // payload: a piece of a RequestResult, another one follows
  kResult = 6,      // payload: its last piece; nothing more comes for this request
  kLost = 7,        // the daemon is stopping and will not end it; nothing more comes
};

// One completion slot.
struct Completion {
  std::uint32_t sequence = 0;   // the slot's index: the value of `published` before it
  std::uint16_t kind = 0;       // CompletionKind
  std::uint16_t flags = 0;      // zero
  std::uint64_t user_data = 0;  // of the submission
  std::uint64_t offset = 0;     // of the payload in the result arena
  std::uint32_t bytes = 0;      // of the payload; 0: none
  std::uint32_t reserved0 = 0;
  std::uint64_t release = 0;  // what the client stores in `released` once it has the payload
  std::uint64_t reserved[3] = {};
};

// A word that one side writes and the other reads, alone on two cache lines.
template <typename Integer>
struct alignas(128) SharedWord {
  std::atomic<Integer> value;
};

// Bits of DaemonWords::flags.
inline constexpr std::uint32_t kFlagDraining = 1U << 0U;
inline constexpr std::uint32_t kFlagDead = 1U << 1U;  // the daemon has closed this session

// The first page of c2d. Written by the client, read by the daemon. What comes before `published` is for a
// reader of core dumps and never relied on.
struct alignas(128) ClientWords {
  std::uint32_t magic = 0;  // kMagic
  std::uint16_t abi_major = 0;
  std::uint16_t abi_minor = 0;
  std::uint64_t session = 0;
  // Submissions; release by client, acquire by DaemonEnd::take.
  SharedWord<std::uint32_t> published;
  // Completions; release by client, acquire by DaemonEnd::publish.
  SharedWord<std::uint32_t> consumed;
  // Bytes of the result arena; as `consumed`.
  SharedWord<std::uint64_t> released;
  // 0: awake; else: wake me by the futex, once for each number. Fenced on both sides: next_sleep().
  SharedWord<std::uint32_t> sleeping;
  // Submissions so far, for a reader of core dumps.
  SharedWord<std::uint64_t> progress;
};

// The first page of d2c. Written by the daemon, read by the client.
struct alignas(128) DaemonWords {
  std::uint32_t magic = 0;
  std::uint16_t abi_major = 0;
  std::uint16_t abi_minor = 0;
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;  // of the daemon's run
  // Completions, also the futex; release by daemon, acquire by ClientEnd::next.
  SharedWord<std::uint32_t> published;
  // Submissions; release by daemon, acquire by ClientEnd::submit.
  SharedWord<std::uint32_t> consumed;
  // 0: awake; else: ring the doorbell, once for each number. Fenced on both sides: next_sleep().
  SharedWord<std::uint32_t> sleeping;
  // kFlag...; release by daemon, acquire by ClientEnd::flags.
  SharedWord<std::uint32_t> flags;
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::is_standard_layout_v<ClientWords> && std::is_standard_layout_v<DaemonWords>);
static_assert(std::is_trivially_copyable_v<SubmissionHeader> && sizeof(SubmissionHeader) == 64);
static_assert(offsetof(SubmissionHeader, operation) == 4 && offsetof(SubmissionHeader, flags) == 6);
static_assert(offsetof(SubmissionHeader, user_data) == 8);
static_assert(offsetof(SubmissionHeader, descriptor_offset) == 16);
static_assert(offsetof(SubmissionHeader, descriptor_bytes) == 24);
static_assert(offsetof(SubmissionHeader, reserved) == 32);
static_assert(std::is_trivially_copyable_v<Completion> &&
              sizeof(Completion) == kCompletionSlotBytes);
static_assert(offsetof(Completion, kind) == 4 && offsetof(Completion, user_data) == 8);
static_assert(offsetof(Completion, offset) == 16 && offsetof(Completion, bytes) == 24);
static_assert(offsetof(Completion, release) == 32);
static_assert(sizeof(ClientWords) == 768 && offsetof(ClientWords, published) == 128);
static_assert(offsetof(ClientWords, consumed) == 256 && offsetof(ClientWords, released) == 384);
static_assert(offsetof(ClientWords, sleeping) == 512 && offsetof(ClientWords, progress) == 640);
static_assert(sizeof(DaemonWords) == 640 && offsetof(DaemonWords, published) == 128);
static_assert(offsetof(DaemonWords, consumed) == 256 && offsetof(DaemonWords, sleeping) == 384);
static_assert(offsetof(DaemonWords, flags) == 512);
static_assert(sizeof(ClientWords) <= kPage && sizeof(DaemonWords) <= kPage);

// FNV-1a over every offset and size above: two builds that lay memory out differently refuse each other.
[[nodiscard]] constexpr std::uint64_t layout_hash() noexcept {
  constexpr std::size_t kFacts[] = {kPage,
                                    kSubmissionSlotBytes,
                                    kCompletionSlotBytes,
                                    kMaxDescriptorBytes,
                                    kMaxPayloadBytes,
                                    offsetof(SubmissionHeader, operation),
                                    offsetof(SubmissionHeader, user_data),
                                    offsetof(SubmissionHeader, descriptor_offset),
                                    offsetof(SubmissionHeader, descriptor_bytes),
                                    sizeof(SubmissionHeader),
                                    offsetof(Completion, kind),
                                    offsetof(Completion, user_data),
                                    offsetof(Completion, offset),
                                    offsetof(Completion, bytes),
                                    offsetof(Completion, release),
                                    sizeof(Completion),
                                    offsetof(ClientWords, published),
                                    offsetof(ClientWords, consumed),
                                    offsetof(ClientWords, released),
                                    offsetof(ClientWords, sleeping),
                                    offsetof(ClientWords, progress),
                                    offsetof(DaemonWords, published),
                                    offsetof(DaemonWords, consumed),
                                    offsetof(DaemonWords, sleeping),
                                    offsetof(DaemonWords, flags)};
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::size_t fact : kFacts) {
    hash ^= fact;
    hash *= 0x100000001b3;
  }
  return hash;
}

// Where the parts of a segment begin, and how long it is.
[[nodiscard]] constexpr std::uint64_t round_to_page(std::uint64_t bytes) noexcept {
  return (bytes + kPage - 1) / kPage * kPage;
}
[[nodiscard]] constexpr std::uint64_t arena_offset(const Geometry& geometry) noexcept {
  return kPage + round_to_page(std::uint64_t{geometry.submission_entries} * kSubmissionSlotBytes);
}
[[nodiscard]] constexpr std::uint64_t c2d_bytes(const Geometry& geometry) noexcept {
  return arena_offset(geometry) + geometry.arena_bytes;
}
[[nodiscard]] constexpr std::uint64_t result_offset(const Geometry& geometry) noexcept {
  return kPage + round_to_page(std::uint64_t{geometry.completion_entries} * kCompletionSlotBytes);
}
[[nodiscard]] constexpr std::uint64_t d2c_bytes(const Geometry& geometry) noexcept {
  return result_offset(geometry) + geometry.result_bytes;
}
// Whether every field is in its range.
[[nodiscard]] constexpr bool is_valid(const Geometry& geometry) noexcept {
  const auto is_ring = [](std::uint32_t entries) {
    return entries >= 2 && entries <= 65536 && (entries & (entries - 1)) == 0;
  };
  const auto is_arena = [](std::uint64_t bytes) {
    return bytes % kPage == 0 && bytes >= (64ULL << 10U) && bytes <= (64ULL << 30U);
  };
  return is_ring(geometry.submission_entries) && is_ring(geometry.completion_entries) &&
         is_arena(geometry.arena_bytes) && is_arena(geometry.result_bytes);
}

}  // namespace deepinfer::ipc
