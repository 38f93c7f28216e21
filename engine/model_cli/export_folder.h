// Writes a checkpoint as bf16: every FP8 and FP4 weight multiplied out, scales gone, names kept.
//
// F32 tensors stay as they are. config.json loses its quantisation, the tokenizer is copied. Files
// hold up to 5 GB; a tensor that has more (an Engram table) gets a file of its own.
//
// Numerics: exact: a code times its power of two has at most 4 significant bits
// Threads:  confined to one thread. Cost: one chunk of 4 MiB and one row in memory
// Errors:   those of FolderWriter; kInvalidArgument when a small file cannot be read
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/model_cli/summary.h"

namespace deepinfer::engine::cli {

// `progress` gets bytes written so far and in all; false stops.
[[nodiscard]] Result<WrittenFolder> export_bf16(
    const Checkpoint& checkpoint, const std::filesystem::path& folder,
    const std::function<bool(std::int64_t, std::int64_t)>& progress);

}  // namespace deepinfer::engine::cli
