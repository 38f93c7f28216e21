// The tensors that a checkpoint of a given shape must hold: name, stored type, stored extents, kind.
//
// Source:   spec/model.md 3; the released inventory has 96,085 tensors and 510,286,023,000 bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/checkpoint/tensor.h"
#include "engine/model/shape.h"

namespace deepinfer::engine {

// The rows of spec 1.2's table.
enum class TensorKind : std::uint8_t {
  kEmbedding,
  kHead,
  kFinalNorm,
  kAttention,
  kNorms,
  kHyperConnection,
  kRouter,
  kRoutedExperts,
  kSharedExperts,
  kCompressor,
  kIndexer,
  kEngramTable,
  kEngramProjection,
  kDraft,
  kVision,
};

[[nodiscard]] const char* name_of(TensorKind kind);

struct TensorSpec {
  std::string name;
  StoredType type = StoredType::kBf16;
  std::vector<std::int64_t> shape;  // stored extents
  TensorKind kind = TensorKind::kEmbedding;
  std::int64_t layer = -1;  // backbone layer; -1: none
  std::int64_t shard = 1;   // its file in the released layout, counted from 1

  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] std::int64_t parameters() const;  // logical weights: 0 for scales
};

// In the order of the released shards. `shape` has passed config_json's checks.
[[nodiscard]] std::vector<TensorSpec> expected_tensors(const ModelShape& shape);

}  // namespace deepinfer::engine
