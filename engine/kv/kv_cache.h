// The memory behind the blocks and the state slots of all sequences, on the host.
//
// Reserved at creation and backed by the system as it is first touched, so a generous cache costs
// nothing until it is used.
//
// Threads:  the bookkeeping is confined to the engine thread; the bytes are written by the step.
// Lifetime: the KvCache outlives its leases.
// Errors:   kResourceExhausted when the address space or the memory limit does not allow the size
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/kv/cache_layout.h"
#include "engine/kv/page_pool.h"

namespace deepinfer::engine {

class KvCache {
 public:
  struct Options {
    CacheLayout layout;
    std::int32_t blocks = 0;
    std::int32_t slots = 0;
  };

  [[nodiscard]] static Result<std::unique_ptr<KvCache>> create(const Options& options);
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;
  ~KvCache();

  [[nodiscard]] const CacheLayout& layout() const noexcept { return options_.layout; }
  [[nodiscard]] PagePool& blocks() noexcept { return *pool_; }
  [[nodiscard]] std::int64_t block_count() const noexcept { return options_.blocks; }
  [[nodiscard]] std::uint8_t* block(PageId page) const noexcept;

  // A free slot, cleared; kResourceExhausted when none is free.
  [[nodiscard]] Result<SlotIndex> acquire_slot();
  void release_slot(SlotIndex slot);
  [[nodiscard]] std::uint8_t* slot(SlotIndex slot) const noexcept;

 private:
  explicit KvCache(const Options& options);

  const Options options_;
  std::uint8_t* memory_ = nullptr;  // a mapping of memory_bytes_: blocks, then slots
  std::size_t memory_bytes_ = 0;
  std::unique_ptr<PagePool> pool_;
  std::vector<SlotIndex> free_slots_;  // a stack
};

}  // namespace deepinfer::engine
