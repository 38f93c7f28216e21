// Both ends of a session in one process, for the tests of ipc/.
//
// SharedPair puts them over the very same bytes: what the thread sanitizer can follow. RealPair goes through
// memfds and descriptors as two processes do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <unistd.h>

#include "ipc/client_end.h"
#include "ipc/daemon_end.h"
#include "ipc/doorbell.h"
#include "ipc/session_memory.h"

namespace deepinfer::ipc {

// As small as a session may be: a test sees what happens at every edge.
inline constexpr Geometry kSmall{.submission_entries = 4,
                                 .completion_entries = 8,
                                 .arena_bytes = 64U << 10U,
                                 .result_bytes = 64U << 10U};
inline constexpr std::uint64_t kSession = 0x1122334455667788;
inline constexpr std::uint64_t kEpoch = 0x99AABBCCDDEEFF00;

struct FreePages {
  void operator()(std::byte* pages) const { std::free(pages); }
};
using Pages = std::unique_ptr<std::byte, FreePages>;

// Zero-filled and page-aligned.
inline Pages allocate_pages(std::uint64_t bytes) {
  auto* const pages = static_cast<std::byte*>(std::aligned_alloc(kPage, bytes));
  if (pages == nullptr) std::abort();
  std::memset(pages, 0, bytes);
  return Pages(pages);
}

inline FileDescriptor duplicate(int descriptor) { return FileDescriptor(::dup(descriptor)); }

class SharedPair {
 public:
  explicit SharedPair(const Geometry& geometry = kSmall, RingStart start = {})
      : geometry_(geometry),
        c2d_(allocate_pages(c2d_bytes(geometry))),
        d2c_(allocate_pages(d2c_bytes(geometry))) {
    auto doorbell = create_doorbell();
    EXPECT_TRUE(doorbell.has_value());
    auto client =
        ClientEnd::over({c2d_.get(), d2c_.get(), geometry, start}, duplicate(doorbell->number()));
    EXPECT_TRUE(client.has_value());
    client_ = *std::move(client);
    daemon_ = DaemonEnd::over({c2d_.get(), d2c_.get(), geometry, start}, *std::move(doorbell));
  }

  [[nodiscard]] ClientEnd& client() { return *client_; }
  [[nodiscard]] DaemonEnd& daemon() { return *daemon_; }

  // What a client that keeps to no rule can write.
  [[nodiscard]] ClientWords& client_words() { return *reinterpret_cast<ClientWords*>(c2d_.get()); }
  [[nodiscard]] DaemonWords& daemon_words() { return *reinterpret_cast<DaemonWords*>(d2c_.get()); }
  void write_slot(std::uint32_t index, const SubmissionHeader& header) {
    const std::size_t slot = index & (geometry_.submission_entries - 1);
    std::memcpy(c2d_.get() + kPage + slot * kSubmissionSlotBytes, &header, sizeof(header));
  }
  void write_slot(std::uint32_t index, const Completion& completion) {
    const std::size_t slot = index & (geometry_.completion_entries - 1);
    std::memcpy(d2c_.get() + kPage + slot * kCompletionSlotBytes, &completion, sizeof(completion));
  }

 private:
  Geometry geometry_;
  Pages c2d_;
  Pages d2c_;
  std::unique_ptr<ClientEnd> client_;
  std::unique_ptr<DaemonEnd> daemon_;
};

inline SessionDescriptors received(const DaemonEnd& daemon) {
  const auto [c2d, d2c, doorbell] = daemon.client_descriptors();
  return {duplicate(c2d), duplicate(d2c), duplicate(doorbell)};
}

struct RealPair {
  std::unique_ptr<DaemonEnd> daemon;
  std::unique_ptr<ClientEnd> client;

  explicit RealPair(const Geometry& geometry = kSmall) {
    auto created = DaemonEnd::create(geometry, kSession, kEpoch);
    EXPECT_TRUE(created.has_value());
    daemon = *std::move(created);
    auto attached = ClientEnd::attach(received(*daemon), geometry, kSession);
    EXPECT_TRUE(attached.has_value());
    client = *std::move(attached);
  }
};

// Bytes that tell when they were mixed up with others.
inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> made(bytes);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  for (std::byte& byte : made) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::byte>(state >> 56U);
  }
  return made;
}

}  // namespace deepinfer::ipc
