#include "ipc/span_arena.h"

#include <cstdlib>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/interprocess/indexes/iset_index.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>

namespace deepinfer::ipc {
namespace {

namespace bi = boost::interprocess;

// Spelled out and compared, so that a lock in shared memory cannot come in with a new default.
using Algorithm = bi::rbtree_best_fit<bi::null_mutex_family>;
using ManagedBuffer = bi::basic_managed_external_buffer<char, Algorithm, bi::iset_index>;
static_assert(std::is_same_v<ManagedBuffer, bi::managed_external_buffer>);
static_assert(std::is_same_v<Algorithm::mutex_family::mutex_type, bi::null_mutex>);
static_assert(Algorithm::Alignment % 8 == 0);

// The greatest span of an empty arena: all free memory is one block, less what Boost needs at its ends.
std::uint64_t most_bytes_of(ManagedBuffer& empty) {
  std::uint64_t bytes = empty.get_free_memory();
  while (bytes > Algorithm::Alignment) {
    void* const block = empty.allocate(bytes, std::nothrow);
    if (block != nullptr) {
      empty.deallocate(block);
      return bytes;
    }
    bytes -= Algorithm::Alignment / 2;
  }
  return 0;
}

}  // namespace

struct SpanArena::Buffer {
  ManagedBuffer managed;
  std::uint64_t most_bytes = 0;
};

SpanArena::SpanArena(std::unique_ptr<Buffer> buffer) : buffer_(std::move(buffer)) {}
SpanArena::SpanArena(SpanArena&&) noexcept = default;
SpanArena& SpanArena::operator=(SpanArena&&) noexcept = default;
SpanArena::~SpanArena() = default;

Result<SpanArena> SpanArena::create(std::span<std::byte> memory) {
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % Algorithm::Alignment != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "an arena must begin at a multiple of " + std::to_string(Algorithm::Alignment));
  }
  try {
    auto buffer = std::make_unique<Buffer>(
        Buffer{ManagedBuffer(bi::create_only, memory.data(), memory.size())});
    buffer->most_bytes = most_bytes_of(buffer->managed);
    return SpanArena(std::move(buffer));
  } catch (const bi::interprocess_exception& thrown) {
    return fail(ErrorCode::kInvalidArgument,
                "an arena of " + std::to_string(memory.size()) + " bytes: " + thrown.what());
  }
}

std::optional<Span> SpanArena::allocate(std::uint64_t bytes) {
  if (bytes == 0) return Span{};
  // Also keeps a size that would overflow inside from Boost.
  if (bytes > buffer_->most_bytes) return std::nullopt;
  const void* const found = buffer_->managed.allocate(bytes, std::nothrow);
  if (found == nullptr) return std::nullopt;
  const auto offset = static_cast<const std::byte*>(found) -
                      static_cast<const std::byte*>(buffer_->managed.get_address());
  return Span{static_cast<std::uint64_t>(offset), bytes};
}

void SpanArena::free(Span span) {
  if (span.bytes == 0) return;
  buffer_->managed.deallocate(bytes_of(span).data());
}

std::span<std::byte> SpanArena::bytes_of(Span span) const {
  const std::uint64_t size = buffer_->managed.get_size();
  // A span of another arena, or one that was made up: a bug of ours.
  if (span.bytes > size || span.offset > size - span.bytes) std::abort();
  return {static_cast<std::byte*>(buffer_->managed.get_address()) + span.offset, span.bytes};
}

std::uint64_t SpanArena::free_bytes() const { return buffer_->managed.get_free_memory(); }

std::uint64_t SpanArena::most_bytes() const { return buffer_->most_bytes; }

}  // namespace deepinfer::ipc
