#include "daemon/engine_options.h"

namespace deepinfer::daemon {

EngineOptions engine_options(const config::Options& options) {
  EngineOptions engine;
  engine.model = options.model.path;
  engine.max_context = options.model.max_context;
  engine.threads = static_cast<int>(options.engine.threads);
  engine.max_sequences = options.engine.max_sequences;
  engine.max_batch_tokens = config::max_batch_tokens(options.engine);
  engine.prefill_chunk = options.engine.prefill_chunk;
  engine.logprobs_mode = options.sampling.logprobs_mode == config::LogprobsMode::kRaw
                             ? LogprobsMode::kRaw
                             : LogprobsMode::kProcessed;
  return engine;
}

}  // namespace deepinfer::daemon
