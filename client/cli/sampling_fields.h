// The sampling parameters of a request, from the object that holds them.
//
// Errors:   noted in the reader's problems with their JSON pointers
// Threads:  pure functions
#pragma once

#include <cstdint>

#include <deepinfer/engine.h>

#include "client/cli/fields.h"

namespace deepinfer::cli {

// How `logprobs` is written: a chat says true and `top_logprobs`, a completion says how many.
enum class LogprobsStyle : std::uint8_t { kFlag, kCount, kEither };

// Reads every sampling parameter of docs/reference/batch-files.md, and refuses by name those that
// this version does not have.
[[nodiscard]] SamplingParams read_sampling(FieldReader& fields, LogprobsStyle style);

}  // namespace deepinfer::cli
