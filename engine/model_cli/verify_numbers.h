// Looks for numbers that no sound checkpoint holds: NaN in every type, infinity in bf16 and f32.
//
// Threads:  confined to one thread. Cost: reads all weights once.
// Errors:   one problem for each tensor, with how many and where the first is
#pragma once

#include <cstdint>
#include <functional>

#include "engine/checkpoint/problem.h"
#include "engine/checkpoint/shard_set.h"

namespace deepinfer::engine::cli {

// `progress` gets the bytes read so far; false stops the check.
[[nodiscard]] Problems check_numbers(const ShardSet& set,
                                     const std::function<bool(std::int64_t)>& progress);

}  // namespace deepinfer::engine::cli
