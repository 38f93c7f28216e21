// Checks of the files beside the weights: the tokenizer, and checksums where there are any.
//
// Threads:  confined to one thread.
// Errors:   problems
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "engine/checkpoint/problem.h"

namespace deepinfer::engine::cli {

// tokenizer.json is there, is JSON, and has exactly the ids below `vocabulary` (-1: not known).
[[nodiscard]] Problems check_tokenizer(const std::filesystem::path& folder,
                                       std::int64_t vocabulary);

// With a SHA256SUMS: every file it lists is there with that digest, and no other file is.
// `progress` gets bytes hashed so far and in all; false stops the check.
[[nodiscard]] Problems check_sums(const std::filesystem::path& folder,
                                  const std::function<bool(std::int64_t, std::int64_t)>& progress);

}  // namespace deepinfer::engine::cli
