#include "engine/capacity.h"

#include <algorithm>
#include <limits>
#include <string>
#include <thread>

#include <unistd.h>

namespace deepinfer::engine {
namespace {

// The share of the machine's memory that the cache takes by default: weights are read through the
// page cache and need the larger part.
constexpr std::int64_t kDefaultMemoryShare = 4;  // one part in four

std::int64_t physical_memory() {
  return std::int64_t{sysconf(_SC_PHYS_PAGES)} * std::int64_t{sysconf(_SC_PAGE_SIZE)};
}

Error out_of_range(const std::string& name, std::int64_t value, const std::string& allowed) {
  return fail(ErrorCode::kInvalidArgument,
              name + " is " + std::to_string(value) + ", allowed is " + allowed);
}

Status check_options(const EngineOptions& options, const ModelShape& shape) {
  if (options.threads < 0 || options.threads > 1024) {
    return out_of_range("threads", options.threads, "0 to 1024");
  }
  if (options.max_context < 0 || options.max_context > shape.max_positions) {
    return out_of_range("max_context", options.max_context,
                        "0 to " + std::to_string(shape.max_positions));
  }
  if (options.max_context == 1) return out_of_range("max_context", 1, "0, or 2 and more");
  if (options.max_sequences < 1 || options.max_sequences > 65536) {
    return out_of_range("max_sequences", options.max_sequences, "1 to 65536");
  }
  if (options.max_batch_tokens < options.max_sequences) {
    return out_of_range("max_batch_tokens", options.max_batch_tokens,
                        "max_sequences (" + std::to_string(options.max_sequences) + ") and more");
  }
  if (options.prefill_chunk < 1) {
    return out_of_range("prefill_chunk", options.prefill_chunk, "1 and more");
  }
  if (options.cache_bytes < 0) {
    return out_of_range("cache_bytes", options.cache_bytes, "0 and more");
  }
  return Done{};
}

int default_threads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 2);
}

}  // namespace

Result<Capacity> plan_capacity(const EngineOptions& options, const ModelShape& shape,
                               const CacheLayout& layout) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, check_options(options, shape));
  Capacity capacity;
  capacity.max_context = options.max_context > 0 ? options.max_context : shape.max_positions;
  capacity.threads = options.threads > 0 ? options.threads : default_threads();
  capacity.slots = static_cast<std::int32_t>(options.max_sequences);

  const std::int64_t one_sequence = (capacity.max_context + kBlockTokens - 1) / kBlockTokens;
  std::int64_t blocks = options.cache_bytes / layout.block_stride;
  if (options.cache_bytes == 0) {
    const std::int64_t affordable = physical_memory() / kDefaultMemoryShare / layout.block_stride;
    blocks = std::min(one_sequence * options.max_sequences, std::max(affordable, one_sequence));
  }
  if (blocks < 1 || blocks > std::numeric_limits<std::int32_t>::max()) {
    return out_of_range("cache_bytes", options.cache_bytes,
                        std::to_string(layout.block_stride) + " (one block) and more");
  }
  // A smaller cache holds shorter sequences; the limit that is enforced is the one that is told.
  capacity.max_context = std::min(capacity.max_context, blocks * kBlockTokens);
  capacity.blocks = static_cast<std::int32_t>(blocks);
  return capacity;
}

}  // namespace deepinfer::engine
