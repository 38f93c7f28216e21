// Random weights for a checkpoint of any shape: every tensor by itself, any part of it, in any order.
//
// The bytes of a tensor follow from the seed and its name alone. Scales are chosen so that a forward
// pass is sane: linear maps keep the root mean square of what they are given, a sub-block adds a
// modest fraction to the stream, norms are near 1, routers are balanced, hyper-connections mix a
// little, and logits have a spread of about 2.
//
// Numerics: draws come from 4096 quantiles of a normal distribution, rounded to the stored type; the
//           scale bytes of a quantised tensor vary by one step around one value.
// Threads:  confined to one thread. Lifetime: the shape outlives it.
// Cost:     a table of 4096 entries per kind of tensor; about one nanosecond per element
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/checkpoint/schema.h"
#include "engine/checkpoint/tensor.h"
#include "engine/model/shape.h"

namespace deepinfer::engine {

class SynthWeights {
 public:
  SynthWeights(const ModelShape& shape, std::uint64_t seed);

  // Bytes [offset, offset + out.size()) of the tensor; both are multiples of its element size.
  void fill(const TensorSpec& spec, std::int64_t offset, std::span<std::uint8_t> out);

 private:
  // The stored bytes of 4096 equally likely values, one after the other.
  using Table = std::vector<std::uint8_t>;
  // Stored type, mean and deviation of the stored numbers, middle of the scale bytes.
  using TableKey = std::tuple<StoredType, double, double, int>;

  const Table& table(const TableKey& key);

  const ModelShape& shape_;
  std::uint64_t seed_;
  std::map<TableKey, Table> tables_;
};

}  // namespace deepinfer::engine
