#include "config/options.h"

#include <algorithm>

namespace deepinfer::config {

std::int64_t max_batch_tokens(const EngineSection& engine) {
  constexpr std::int64_t kUsual = 4096;
  return engine.max_batch_tokens.value_or(std::max(kUsual, engine.max_sequences));
}

}  // namespace deepinfer::config
