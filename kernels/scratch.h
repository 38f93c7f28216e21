// Memory for the intermediate rows of a step: taken in order, given back all at once, kept for the
// next step, so that a step in the steady state allocates nothing.
//
// Threads:  confined to the thread that drives the step; worker threads get what it took for them.
// Lifetime: what take() returned is valid until the mark before it is restored.
// Cost:     take() moves a pointer; a new chunk is allocated only while the largest step grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace deepinfer::kernels {

class Scratch {
 public:
  // 64-byte aligned, not initialised, for `count` objects of a trivial type.
  template <typename T>
  [[nodiscard]] T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }

  // Everything taken while a Mark lives is given back when it dies.
  class Mark {
   public:
    explicit Mark(Scratch& scratch)
        : scratch_(scratch), chunk_(scratch.chunk_), used_(scratch.used_) {}
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    ~Mark() {
      scratch_.chunk_ = chunk_;
      scratch_.used_ = used_;
    }

   private:
    Scratch& scratch_;
    std::size_t chunk_;
    std::size_t used_;
  };

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kSmallestChunk = std::size_t{1} << 20U;

  struct Chunk {
    std::unique_ptr<std::byte[]> data;
    std::size_t size = 0;  // usable bytes from the first aligned one on
    std::byte* begin = nullptr;
  };

  [[nodiscard]] void* take_bytes(std::size_t bytes);
  void add_chunk(std::size_t bytes);

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;  // the one in use
  std::size_t used_ = 0;   // bytes of it
};

}  // namespace deepinfer::kernels
