// How the numbers of one tensor are distributed, from its name and extents.
//
// Threads:  any thread; a plain function.
// Source:   spec/model.md 5 for what each tensor does
#pragma once

#include <cstdint>

#include "engine/checkpoint/schema.h"

namespace deepinfer::engine {

struct Recipe {
  double mean = 0;
  double deviation = 0;      // of the stored numbers: of codes where there are scales
  int scale_byte = 0;        // for an E8M0 tensor: the middle of its bytes
  bool is_mix_base = false;  // the mean depends on the place: see mix_base_mean
};

[[nodiscard]] Recipe recipe_for(const TensorSpec& spec);

// The mean of entry `i` of an hc_*_base: pre sums to 1 over the copies, post is 1, comb keeps most of
// each copy where it is.
[[nodiscard]] double mix_base_mean(std::int64_t i, std::int64_t copies);

}  // namespace deepinfer::engine
