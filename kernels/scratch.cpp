#include "kernels/scratch.h"

#include <algorithm>
#include <utility>

namespace deepinfer::kernels {

void* Scratch::take_bytes(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk_ < chunks_.size() && used_ + rounded > chunks_[chunk_].size) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) add_chunk(rounded);
  void* taken = chunks_[chunk_].begin + used_;
  used_ += rounded;
  return taken;
}

void Scratch::add_chunk(std::size_t bytes) {
  const std::size_t last = chunks_.empty() ? kSmallestChunk : chunks_.back().size;
  Chunk chunk;
  chunk.size = std::max(bytes, 2 * last);
  // Not make_unique: that would clear what is about to be overwritten.
  chunk.data.reset(new std::byte[chunk.size + kAlignment]);
  const auto address = reinterpret_cast<std::uintptr_t>(chunk.data.get());
  chunk.begin = chunk.data.get() + (kAlignment - address % kAlignment) % kAlignment;
  chunks_.push_back(std::move(chunk));
  used_ = 0;
}

}  // namespace deepinfer::kernels
