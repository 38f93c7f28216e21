#include "engine/model/weights.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace deepinfer::engine {
namespace {

using kernels::Bf16;
using kernels::WeightFormat;
using kernels::WeightMatrix;

// Finds tensors below one name prefix.
class Reader {
 public:
  Reader(const Checkpoint& checkpoint, std::string prefix)
      : checkpoint_(checkpoint), prefix_(std::move(prefix)) {}

  [[nodiscard]] const Tensor& tensor(const std::string& name) const {
    const Tensor* found = checkpoint_.find(prefix_ + name);
    if (found == nullptr) std::abort();  // the checkpoint was checked against the same schema
    return *found;
  }

  [[nodiscard]] OwnedArray<Bf16> bf16(const std::string& name) const {
    return OwnedArray<Bf16>(tensor(name));
  }
  [[nodiscard]] OwnedArray<float> f32(const std::string& name) const {
    return OwnedArray<float>(tensor(name));
  }
  // NAME.weight with NAME.scale beside it, or a bf16 matrix.
  [[nodiscard]] WeightMatrix matrix(const std::string& name) const;
  [[nodiscard]] kernels::ExpertWeights expert(const std::string& name) const {
    return {.w1 = matrix(name + ".w1"), .w3 = matrix(name + ".w3"), .w2 = matrix(name + ".w2")};
  }
  [[nodiscard]] HyperConnection hyper_connection(const std::string& name) const {
    return {.fn = f32(name + "_fn"), .base = f32(name + "_base"), .scale = f32(name + "_scale")};
  }

 private:
  const Checkpoint& checkpoint_;
  std::string prefix_;
};

WeightMatrix Reader::matrix(const std::string& name) const {
  const Tensor& weight = tensor(name + ".weight");
  WeightMatrix matrix;
  matrix.data = weight.data;
  matrix.outputs = weight.shape[0];
  matrix.cols = weight.shape[1];
  switch (weight.type) {
    case StoredType::kF8E4m3:
      matrix.format = WeightFormat::kFp8Block32;
      break;
    case StoredType::kI8:
      matrix.format = WeightFormat::kFp4Group32;
      matrix.cols *= 2;  // two codes a byte
      break;
    default:
      matrix.format = WeightFormat::kBf16;
      return matrix;
  }
  matrix.scales = tensor(name + ".scale").data;
  return matrix;
}

CompressorWeights read_compressor(const Reader& reader, std::int64_t ratio) {
  CompressorWeights weights;
  weights.wkv = reader.matrix("attn.compressor.wkv");
  if (ratio > 1) weights.wgate = reader.matrix("attn.compressor.wgate");
  weights.norm = reader.bf16("attn.compressor.norm.weight");
  weights.index_wk = reader.matrix("attn.indexer.wk");
  weights.index_k_norm = reader.bf16("attn.indexer.k_norm.weight");
  return weights;
}

EngramWeights read_engram(const Reader& reader, kernels::EngramHash hash) {
  const Tensor& codes = reader.tensor("engram.embed.weight");
  EngramWeights weights;
  weights.table = {.codes = codes.data,
                   .scales = reader.tensor("engram.embed.scale").data,
                   .rows = codes.shape[0],
                   .dim = codes.shape[1]};
  weights.hash = std::move(hash);
  weights.wkv = reader.matrix("engram.wkv");
  weights.q_weight = reader.bf16("engram.q_weight");
  weights.k_weight = reader.bf16("engram.k_weight");
  return weights;
}

void read_attention(const Reader& reader, const LayerRole& role, LayerWeights& weights) {
  weights.attn_sink = reader.f32("attn.attn_sink");
  weights.wq_a = reader.matrix("attn.wq_a");
  weights.q_norm = reader.bf16("attn.q_norm.weight");
  weights.wq_b = reader.matrix("attn.wq_b");
  weights.wkv = reader.matrix("attn.wkv");
  weights.kv_norm = reader.bf16("attn.kv_norm.weight");
  weights.wo_a = reader.matrix("attn.wo_a");
  weights.wo_b = reader.matrix("attn.wo_b");
  if (role.owns_kv) weights.compressor = read_compressor(reader, role.compress_ratio);
  if (role.owns_index) {
    weights.indexer = {.wq_b = reader.matrix("attn.indexer.wq_b"),
                       .weights_proj = reader.matrix("attn.indexer.weights_proj")};
  }
}

LayerWeights read_layer(const Reader& reader, const ModelShape& shape, const LayerRole& role) {
  LayerWeights weights;
  weights.attn_norm = reader.bf16("attn_norm.weight");
  weights.ffn_norm = reader.bf16("ffn_norm.weight");
  weights.attn_mix = reader.hyper_connection("hc_attn");
  weights.ffn_mix = reader.hyper_connection("hc_ffn");
  read_attention(reader, role, weights);
  weights.gate = reader.matrix("ffn.gate");
  weights.gate_bias = reader.f32("ffn.gate.bias");
  for (std::int64_t expert = 0; expert < shape.routed_experts; ++expert) {
    weights.experts.push_back(reader.expert("ffn.experts." + std::to_string(expert)));
  }
  weights.shared = reader.expert("ffn.shared_experts");
  return weights;
}

DraftInputWeights read_draft(const Checkpoint& checkpoint, std::int64_t layers) {
  DraftInputWeights weights;
  const Reader first(checkpoint, "mtp.0.");
  weights.main_proj = first.matrix("main_proj");
  weights.main_norm = first.bf16("main_norm.weight");
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const Reader reader(checkpoint, "mtp." + std::to_string(layer) + ".");
    weights.layers.push_back(
        {.wkv = reader.matrix("attn.wkv"), .kv_norm = reader.bf16("attn.kv_norm.weight")});
  }
  return weights;
}

std::vector<kernels::EngramHash> hashes_of(const EngramShape& engram) {
  return kernels::engram_hashes({.layer_ids = engram.layer_ids,
                                 .orders = engram.max_ngram,
                                 .heads = engram.heads,
                                 .first_prime_after = engram.first_prime_after,
                                 .compressed_vocabulary = engram.compressed_vocabulary});
}

}  // namespace

template <typename T>
OwnedArray<T>::OwnedArray(const Tensor& tensor)
    : lines_((static_cast<std::size_t>(tensor.bytes) + sizeof(Line) - 1) / sizeof(Line)),
      size_(tensor.bytes / static_cast<std::int64_t>(sizeof(T))) {
  std::memcpy(lines_.data(), tensor.data, static_cast<std::size_t>(tensor.bytes));
}

template class OwnedArray<float>;
template class OwnedArray<Bf16>;

Weights load_weights(const Checkpoint& checkpoint) {
  const ModelShape& shape = checkpoint.shape();
  const Reader top(checkpoint, "");
  Weights weights;
  weights.embed = top.matrix("embed");
  weights.head = top.matrix("head");
  weights.norm = top.bf16("norm.weight");

  std::vector<kernels::EngramHash> hashes = hashes_of(shape.engram);
  std::size_t next_hash = 0;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const Reader reader(checkpoint, "layers." + std::to_string(layer) + ".");
    weights.layers.push_back(read_layer(reader, shape, shape.role(layer)));
    if (shape.role(layer).has_engram) {
      weights.layers.back().engram = read_engram(reader, std::move(hashes[next_hash++]));
    }
  }
  if (shape.draft.layers > 0) weights.draft = read_draft(checkpoint, shape.draft.layers);
  return weights;
}

}  // namespace deepinfer::engine
