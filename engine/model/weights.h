// The weights of the text model as the forward pass uses them: one field for each tensor, by layer.
//
// Matrices point into the mapped checkpoint and stay in their released precision. Small vectors
// (norms, biases, hyper-connection functions) are copied once, so that they are aligned.
//
// Shapes:   spec/model.md 3
// Threads:  built on one thread, read from any
// Lifetime: the Checkpoint outlives the Weights
// Cost:     a few hundred kilobytes per layer are copied; nothing else is touched
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/checkpoint/checkpoint.h"
#include "engine/model/shape.h"
#include "kernels/engram/engram.h"
#include "kernels/float_types.h"
#include "kernels/gemm/linear.h"
#include "kernels/moe/experts.h"
#include "kernels/view.h"

namespace deepinfer::engine {

// An aligned copy of a small tensor.
template <typename T>
class OwnedArray {
 public:
  OwnedArray() = default;
  explicit OwnedArray(const Tensor& tensor);

  [[nodiscard]] kernels::View<const T, 1> view() const {
    return kernels::View<const T, 1>(data(), size_);
  }
  [[nodiscard]] kernels::View<const T, 2> matrix(std::int64_t rows) const {
    return kernels::View<const T, 2>(data(), rows, size_ / rows);
  }
  [[nodiscard]] const T* data() const { return reinterpret_cast<const T*>(lines_.data()); }

 private:
  struct alignas(64) Line {  // one cache line, one AVX-512 vector
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
  std::int64_t size_ = 0;
};

struct HyperConnection {
  OwnedArray<float> fn;     // [mixes, copies * hidden]
  OwnedArray<float> base;   // [mixes]
  OwnedArray<float> scale;  // [3]
};

struct CompressorWeights {
  kernels::WeightMatrix wkv;
  std::optional<kernels::WeightMatrix> wgate;  // ratio 2 only
  OwnedArray<kernels::Bf16> norm;
  kernels::WeightMatrix index_wk;
  OwnedArray<kernels::Bf16> index_k_norm;
};

struct IndexerWeights {
  kernels::WeightMatrix wq_b;
  kernels::WeightMatrix weights_proj;
};

struct EngramWeights {
  kernels::EngramTable table;
  kernels::EngramHash hash;
  kernels::WeightMatrix wkv;
  OwnedArray<kernels::Bf16> q_weight;  // [copies, hidden]
  OwnedArray<kernels::Bf16> k_weight;
};

struct LayerWeights {
  OwnedArray<kernels::Bf16> attn_norm;
  OwnedArray<kernels::Bf16> ffn_norm;
  HyperConnection attn_mix;
  HyperConnection ffn_mix;

  OwnedArray<float> attn_sink;
  kernels::WeightMatrix wq_a;
  OwnedArray<kernels::Bf16> q_norm;
  kernels::WeightMatrix wq_b;
  kernels::WeightMatrix wkv;
  OwnedArray<kernels::Bf16> kv_norm;
  kernels::WeightMatrix wo_a;
  kernels::WeightMatrix wo_b;
  std::optional<CompressorWeights> compressor;
  std::optional<IndexerWeights> indexer;
  std::optional<EngramWeights> engram;

  kernels::WeightMatrix gate;
  OwnedArray<float> gate_bias;
  std::vector<kernels::ExpertWeights> experts;
  kernels::ExpertWeights shared;
};

// The part of the drafter that the target's forward pass writes: its window entries (spec 8.1, 1-2).
struct DraftInputWeights {
  kernels::WeightMatrix main_proj;
  OwnedArray<kernels::Bf16> main_norm;
  struct Layer {
    kernels::WeightMatrix wkv;
    OwnedArray<kernels::Bf16> kv_norm;
  };
  std::vector<Layer> layers;
};

struct Weights {
  kernels::WeightMatrix embed;
  kernels::WeightMatrix head;
  OwnedArray<kernels::Bf16> norm;
  std::vector<LayerWeights> layers;
  std::optional<DraftInputWeights> draft;
};

// `checkpoint` has passed its checks, so every tensor is there with its type and extents.
[[nodiscard]] Weights load_weights(const Checkpoint& checkpoint);

}  // namespace deepinfer::engine
