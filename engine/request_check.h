// Whether the parameters of a request are possible: types are right by construction, ranges are not.
//
// Threads:  pure functions
// Errors:   the first problem, as a RequestError with a JSON pointer below the parameters' object
// Source:   docs/reference/sampling.md
#pragma once

#include <cstdint>
#include <optional>

#include <deepinfer/engine.h>

namespace deepinfer::engine {

[[nodiscard]] std::optional<RequestError> check_sampling(const SamplingParams& params,
                                                         std::int64_t vocabulary);

}  // namespace deepinfer::engine
