// What happens to the logits of a row before the softmax: the mask of end tokens, bias, penalties.
//
// Threads:  pure functions
// Source:   docs/reference/sampling.md; penalties as OpenAI (frequency, presence) and Keskar et al.
//           2019, arXiv:1909.05858, section 4.1 (repetition) define them
#pragma once

#include <vector>

#include "engine/sampling/sampler.h"

namespace deepinfer::engine {

// True when adjusted_logits would change nothing.
[[nodiscard]] bool needs_no_adjustment(const SampleArgs& args);
[[nodiscard]] std::vector<float> adjusted_logits(const SampleArgs& args);

}  // namespace deepinfer::engine
