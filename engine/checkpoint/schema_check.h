// Compares the tensors that lie in a folder with those that the model needs.
//
// Accepts both spellings of names: an optional "model." prefix, and "weight_scale_inv" for "scale".
// Copies of the embedding and the head under mtp.N are ignored: drafts use the backbone's.
//
// Lifetime: the match points into the ShardSet.
// Errors:   problems: missing, unexpected and repeated tensors, wrong types and shapes
// Source:   spec/model.md 3
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/problem.h"
#include "engine/checkpoint/schema.h"
#include "engine/checkpoint/shard_set.h"
#include "engine/checkpoint/tensor.h"

namespace deepinfer::engine {

// The released name of a stored one; empty for a copy that is ignored.
[[nodiscard]] std::string released_name(std::string_view stored);

struct SchemaMatch {
  std::vector<const Tensor*> tensors;  // one for each spec; null where there is a problem
  Problems problems;
};

[[nodiscard]] SchemaMatch match_schema(const std::vector<TensorSpec>& specs, const ShardSet& set);

}  // namespace deepinfer::engine
