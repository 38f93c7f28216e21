// Everything an engine needs of a checkpoint, opened and checked: weights, tokenizer, token map.
//
// Errors:   EngineFault::kModel with every problem of the checkpoint or its tokenizer
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <deepinfer/engine.h>

#include "engine/checkpoint/checkpoint.h"
#include "engine/model/weights.h"
#include "engine/text/tokenizer.h"

namespace deepinfer::engine {

struct OpenModel {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Tokenizer> tokenizer;
  Weights weights;
  std::vector<std::int32_t> token_map;  // Engram; empty without one
};

// Null on failure, with `error` filled.
[[nodiscard]] std::unique_ptr<OpenModel> open_model(const std::filesystem::path& folder,
                                                    EngineError& error);

}  // namespace deepinfer::engine
