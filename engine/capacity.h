// How many blocks and state slots an engine gets, from its options and the model.
//
// Units:    blocks of kBlockTokens positions; bytes
// Errors:   kInvalidArgument naming the option and its range
#pragma once

#include <cstdint>

#include <deepinfer/engine.h>

#include "base/result.h"
#include "engine/kv/cache_layout.h"
#include "engine/model/shape.h"

namespace deepinfer::engine {

struct Capacity {
  std::int64_t max_context = 0;  // tokens of one sequence, as enforced
  std::int32_t blocks = 0;
  std::int32_t slots = 0;
  int threads = 1;
};

[[nodiscard]] Result<Capacity> plan_capacity(const EngineOptions& options, const ModelShape& shape,
                                             const CacheLayout& layout);

}  // namespace deepinfer::engine
