#include "engine/kv/kv_cache.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <sys/mman.h>

namespace deepinfer::engine {

Result<std::unique_ptr<KvCache>> KvCache::create(const Options& options) {
  std::unique_ptr<KvCache> cache(new KvCache(options));  // make_unique cannot: it is private
  DEEPINFER_TRY(cache->pool_,
                PagePool::create({.page_count = options.blocks,
                                  .tokens_per_page = static_cast<std::int32_t>(kBlockTokens)}));
  void* mapped = mmap(nullptr, cache->memory_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return fail(ErrorCode::kResourceExhausted,
                "cannot reserve " + std::to_string(cache->memory_bytes_) +
                    " bytes of cache: " + std::generic_category().message(errno));
  }
  cache->memory_ = static_cast<std::uint8_t*>(mapped);
  return cache;
}

KvCache::KvCache(const Options& options)
    : options_(options),
      memory_bytes_(static_cast<std::size_t>(options.blocks * options.layout.block_stride +
                                             options.slots * options.layout.slot_stride)) {
  for (std::int32_t id = options.slots - 1; id >= 0; --id) free_slots_.push_back(SlotIndex{id});
}

KvCache::~KvCache() {
  pool_.reset();
  if (memory_ != nullptr) munmap(memory_, memory_bytes_);
}

std::uint8_t* KvCache::block(PageId page) const noexcept {
  return memory_ + static_cast<std::int64_t>(page) * options_.layout.block_stride;
}

Result<SlotIndex> KvCache::acquire_slot() {
  if (free_slots_.empty()) {
    return fail(ErrorCode::kResourceExhausted,
                "all " + std::to_string(options_.slots) + " state slots are in use");
  }
  const SlotIndex taken = free_slots_.back();
  free_slots_.pop_back();
  std::memset(slot(taken), 0, static_cast<std::size_t>(options_.layout.slot_bytes));
  return taken;
}

void KvCache::release_slot(SlotIndex slot) { free_slots_.push_back(slot); }

std::uint8_t* KvCache::slot(SlotIndex slot) const noexcept {
  return memory_ + options_.blocks * options_.layout.block_stride +
         value_of(slot) * options_.layout.slot_stride;
}

}  // namespace deepinfer::engine
