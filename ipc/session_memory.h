// Where a session's two segments lie in this process, seen from either end. Internal to ipc/ and its tests.
//
// The ends work on this, so that a test can put both over the same bytes: the thread sanitizer does not see
// that two mappings are one memory.
// Lifetime: the memory outlives the ends
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/layout.h"

namespace deepinfer::ipc {

// Where the free-running indices begin; elsewhere than at zero only in tests, which cannot wait for a wrap.
struct RingStart {
  std::uint32_t submissions = 0;
  std::uint32_t completions = 0;
  std::uint64_t results = 0;
};

struct DaemonMemory {
  const std::byte* c2d = nullptr;  // c2d_bytes(geometry), page-aligned
  std::byte* d2c = nullptr;        // d2c_bytes(geometry), page-aligned
  Geometry geometry;
  RingStart start;

  [[nodiscard]] const ClientWords& client() const {
    return *reinterpret_cast<const ClientWords*>(c2d);
  }
  [[nodiscard]] DaemonWords& daemon() const { return *reinterpret_cast<DaemonWords*>(d2c); }
};

struct ClientMemory {
  std::byte* c2d = nullptr;
  const std::byte* d2c = nullptr;
  Geometry geometry;
  RingStart start;

  [[nodiscard]] ClientWords& client() const { return *reinterpret_cast<ClientWords*>(c2d); }
  [[nodiscard]] const DaemonWords& daemon() const {
    return *reinterpret_cast<const DaemonWords*>(d2c);
  }
};

// Whether `bytes` from `offset` on lie within `size`. No sum that could overflow.
[[nodiscard]] constexpr bool lies_within(std::uint64_t offset, std::uint64_t bytes,
                                         std::uint64_t size) {
  return bytes <= size && offset <= size - bytes;
}

}  // namespace deepinfer::ipc
