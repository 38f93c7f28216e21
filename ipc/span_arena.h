// Allocates spans in the part of a segment that this side alone writes. The peer sees offsets only.
//
// The bookkeeping lies in the arena itself (Boost.Interprocess managed_external_buffer with its null
// mutex); nobody else reads it, and it is gone with the session.
// Units:    bytes; offsets from the arena's begin
// Threads:  confined to one thread, or behind its owner's lock
// Lifetime: the memory outlives the arena
// Errors:   an empty optional when there is no room: an ordinary outcome
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"

namespace deepinfer::ipc {

// A piece of an arena, as it is written into descriptors.
struct Span {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

class SpanArena {
 public:
  [[nodiscard]] static Result<SpanArena> create(std::span<std::byte> memory);
  SpanArena(SpanArena&&) noexcept;
  SpanArena& operator=(SpanArena&&) noexcept;
  ~SpanArena();

  // 8-aligned; zero bytes need no room and give an empty span.
  [[nodiscard]] std::optional<Span> allocate(std::uint64_t bytes);
  void free(Span span);
  [[nodiscard]] std::span<std::byte> bytes_of(Span span) const;

  [[nodiscard]] std::uint64_t free_bytes() const;
  // The greatest span that an empty arena could give.
  [[nodiscard]] std::uint64_t most_bytes() const;

 private:
  struct Buffer;
  explicit SpanArena(std::unique_ptr<Buffer> buffer);
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace deepinfer::ipc
