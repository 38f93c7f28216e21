// Runs one request and prints its answer: as it comes, or as one JSON object.
//
// Threads:  confined to one thread
#pragma once

#include "client/cli/batch_line.h"
#include "client/cli/command_context.h"
#include "client/cli/place.h"

namespace deepinfer::cli {

// Returns the exit code; messages and results have gone to the context's streams.
[[nodiscard]] int generate(const BatchLine& line, const Place& place, bool is_json,
                           const CommandContext& context);

}  // namespace deepinfer::cli
