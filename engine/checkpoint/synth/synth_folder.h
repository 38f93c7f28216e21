// Writes a generated checkpoint: weights, index, config.json, tokenizer, checksums.
//
// Files as released: one for each layer, the embedding, the head, each draft block and Engram table,
// and the vision tower (48 of them for `full`).
//
// Threads:  confined to one thread.
// Errors:   those of FolderWriter and preset_config
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"

namespace deepinfer::engine {

struct SynthOptions {
  std::string preset;
  std::uint64_t seed = 0;
  bool sparse = false;  // headers and holes only, in the final sizes
  // Called with bytes written so far and bytes in all; false stops. May be empty.
  std::function<bool(std::int64_t, std::int64_t)> progress;
};

struct SynthSummary {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;  // of tensors
  std::int64_t files = 0;  // shards
};

[[nodiscard]] Result<SynthSummary> write_synth(const std::filesystem::path& folder,
                                               const SynthOptions& options);

}  // namespace deepinfer::engine
