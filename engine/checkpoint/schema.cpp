#include "engine/checkpoint/schema.h"

#include <utility>

namespace deepinfer::engine {
namespace {

constexpr std::int64_t kGroup = 32;  // weights under one scale, along a row; rows too for FP8

std::int64_t ceil_groups(std::int64_t extent) { return (extent + kGroup - 1) / kGroup; }

// Lists the tensors of one model in the order of the released shards.
class SchemaBuilder {
 public:
  explicit SchemaBuilder(const ModelShape& shape) : shape_(shape) {}

  std::vector<TensorSpec> build() {
    if (shape_.vision.layers > 0) {
      begin_shard();
      add_vision();
    }
    begin_shard();
    bf16("embed.weight", {shape_.vocabulary, shape_.hidden}, TensorKind::kEmbedding);
    for (layer_ = 0; layer_ < shape_.layers; ++layer_) {
      begin_shard();
      add_backbone_layer(shape_.role(layer_));
    }
    layer_ = -1;
    begin_shard();
    bf16("head.weight", {shape_.vocabulary, shape_.hidden}, TensorKind::kHead);
    bf16("norm.weight", {shape_.hidden}, TensorKind::kFinalNorm);
    for (std::int64_t n = 0; n < shape_.draft.layers; ++n) {
      begin_shard();
      add_draft_layer(n);
    }
    for (std::size_t i = 0; i < shape_.engram.layer_ids.size(); ++i) {
      begin_shard();
      add_engram_table(i);
    }
    return std::move(specs_);
  }

 private:
  // The kinds of a block's parts: a draft block counts as a whole.
  struct BlockKinds {
    TensorKind attention = TensorKind::kAttention;
    TensorKind norms = TensorKind::kNorms;
    TensorKind mix = TensorKind::kHyperConnection;
    TensorKind router = TensorKind::kRouter;
    TensorKind routed = TensorKind::kRoutedExperts;
    TensorKind shared = TensorKind::kSharedExperts;
  };

  void begin_shard() { ++shard_; }

  void add(std::string name, StoredType type, std::vector<std::int64_t> extents, TensorKind kind) {
    specs_.push_back({.name = std::move(name),
                      .type = type,
                      .shape = std::move(extents),
                      .kind = kind,
                      .layer = layer_,
                      .shard = shard_});
  }
  void bf16(std::string name, std::vector<std::int64_t> extents, TensorKind kind) {
    add(std::move(name), StoredType::kBf16, std::move(extents), kind);
  }
  void f32(std::string name, std::vector<std::int64_t> extents, TensorKind kind) {
    add(std::move(name), StoredType::kF32, std::move(extents), kind);
  }
  // One scale for each 32 x 32 block.
  void fp8(const std::string& name, std::int64_t outputs, std::int64_t cols, TensorKind kind) {
    add(name + ".weight", StoredType::kF8E4m3, {outputs, cols}, kind);
    add(name + ".scale", StoredType::kF8E8m0, {ceil_groups(outputs), ceil_groups(cols)}, kind);
  }
  // Two weights to a byte; one scale for each 32 of a row.
  void fp4(const std::string& name, std::int64_t outputs, std::int64_t cols, TensorKind kind) {
    add(name + ".weight", StoredType::kI8, {outputs, cols / 2}, kind);
    add(name + ".scale", StoredType::kF8E8m0, {outputs, cols / kGroup}, kind);
  }

  void add_mix(const std::string& prefix, TensorKind kind) {
    f32(prefix + "_fn", {shape_.mixes(), shape_.copies * shape_.hidden}, kind);
    f32(prefix + "_base", {shape_.mixes()}, kind);
    f32(prefix + "_scale", {3}, kind);
  }

  void add_attention(const std::string& prefix, TensorKind kind) {
    const std::int64_t q_width = shape_.heads * shape_.head_dim;
    f32(prefix + "attn_sink", {shape_.heads}, kind);
    fp8(prefix + "wq_a", shape_.q_rank, shape_.hidden, kind);
    bf16(prefix + "q_norm.weight", {shape_.q_rank}, kind);
    fp8(prefix + "wq_b", q_width, shape_.q_rank, kind);
    fp8(prefix + "wkv", shape_.head_dim, shape_.hidden, kind);
    bf16(prefix + "kv_norm.weight", {shape_.head_dim}, kind);
    fp8(prefix + "wo_a", shape_.o_groups * shape_.o_rank, q_width / shape_.o_groups, kind);
    fp8(prefix + "wo_b", shape_.hidden, shape_.o_groups * shape_.o_rank, kind);
  }

  void add_experts(const std::string& prefix, std::int64_t routed, const BlockKinds& kinds) {
    bf16(prefix + "gate.weight", {routed, shape_.hidden}, kinds.router);
    f32(prefix + "gate.bias", {routed}, kinds.router);
    f32(prefix + "gate.bias_vl", {routed}, kinds.router);
    for (std::int64_t e = 0; e < routed; ++e) {
      const std::string expert = prefix + "experts." + std::to_string(e) + ".";
      fp4(expert + "w1", shape_.expert_hidden, shape_.hidden, kinds.routed);
      fp4(expert + "w2", shape_.hidden, shape_.expert_hidden, kinds.routed);
      fp4(expert + "w3", shape_.expert_hidden, shape_.hidden, kinds.routed);
    }
    const std::string shared = prefix + "shared_experts.";
    fp8(shared + "w1", shape_.expert_hidden, shape_.hidden, kinds.shared);
    fp8(shared + "w2", shape_.hidden, shape_.expert_hidden, kinds.shared);
    fp8(shared + "w3", shape_.expert_hidden, shape_.hidden, kinds.shared);
  }

  void add_block(const std::string& prefix, std::int64_t routed, const BlockKinds& kinds) {
    bf16(prefix + "attn_norm.weight", {shape_.hidden}, kinds.norms);
    bf16(prefix + "ffn_norm.weight", {shape_.hidden}, kinds.norms);
    add_mix(prefix + "hc_attn", kinds.mix);
    add_mix(prefix + "hc_ffn", kinds.mix);
    add_attention(prefix + "attn.", kinds.attention);
    add_experts(prefix + "ffn.", routed, kinds);
  }

  void add_backbone_layer(const LayerRole& role) {
    const std::string prefix = "layers." + std::to_string(layer_) + ".";
    add_block(prefix, shape_.routed_experts, BlockKinds{});
    if (role.owns_kv) add_compressor(prefix + "attn.compressor.", role);
    if (role.owns_index) add_indexer(prefix + "attn.indexer.", role);
    if (role.has_engram) add_engram_projection(prefix + "engram.");
  }

  void add_compressor(const std::string& prefix, const LayerRole& role) {
    const TensorKind kind = TensorKind::kCompressor;
    bf16(prefix + "wkv.weight", {shape_.head_dim, shape_.hidden}, kind);
    // One token per entry has nothing to weigh.
    if (role.compress_ratio > 1) {
      bf16(prefix + "wgate.weight", {shape_.head_dim, shape_.hidden}, kind);
    }
    bf16(prefix + "norm.weight", {shape_.head_dim}, kind);
  }

  void add_indexer(const std::string& prefix, const LayerRole& role) {
    const TensorKind kind = TensorKind::kIndexer;
    fp8(prefix + "wq_b", shape_.index_heads * shape_.index_head_dim, shape_.q_rank, kind);
    bf16(prefix + "weights_proj.weight", {shape_.index_heads, shape_.hidden}, kind);
    // Only who owns the entries makes keys for them.
    if (!role.owns_kv) return;
    bf16(prefix + "wk.weight", {shape_.index_head_dim, shape_.head_dim}, kind);
    bf16(prefix + "k_norm.weight", {shape_.index_head_dim}, kind);
  }

  void add_engram_projection(const std::string& prefix) {
    const TensorKind kind = TensorKind::kEngramProjection;
    fp8(prefix + "wkv", (shape_.copies + 1) * shape_.hidden, shape_.engram.width(), kind);
    bf16(prefix + "q_weight", {shape_.copies, shape_.hidden}, kind);
    bf16(prefix + "k_weight", {shape_.copies, shape_.hidden}, kind);
  }

  void add_engram_table(std::size_t i) {
    layer_ = shape_.engram.layer_ids[i];
    const std::string prefix = "layers." + std::to_string(layer_) + ".engram.embed.";
    const std::int64_t rows = shape_.engram.table_rows[i];
    const std::int64_t dim = shape_.engram.head_dim;
    add(prefix + "weight", StoredType::kF8E4m3, {rows, dim}, TensorKind::kEngramTable);
    add(prefix + "scale", StoredType::kF8E8m0, {rows, dim / kGroup}, TensorKind::kEngramTable);
    layer_ = -1;
  }

  void add_draft_layer(std::int64_t n) {
    const TensorKind kind = TensorKind::kDraft;
    const DraftShape& draft = shape_.draft;
    const std::string prefix = "mtp." + std::to_string(n) + ".";
    add_block(prefix, draft.routed_experts, BlockKinds{kind, kind, kind, kind, kind, kind});
    if (n == 0) {
      const auto targets = static_cast<std::int64_t>(draft.target_layers.size());
      fp8(prefix + "main_proj", shape_.hidden, targets * shape_.hidden, kind);
      bf16(prefix + "main_norm.weight", {shape_.hidden}, kind);
    }
    if (n != draft.layers - 1) return;
    bf16(prefix + "norm.weight", {shape_.hidden}, kind);
    bf16(prefix + "markov_head.embed.weight", {shape_.vocabulary, draft.markov_rank}, kind);
    bf16(prefix + "markov_head.head.weight", {shape_.vocabulary, draft.markov_rank}, kind);
    bf16(prefix + "confidence_head.proj.weight", {1, shape_.hidden + draft.markov_rank}, kind);
  }

  void add_vision_block(const std::string& prefix) {
    const TensorKind kind = TensorKind::kVision;
    const VisionShape& vision = shape_.vision;
    bf16(prefix + "norm1.weight", {vision.hidden}, kind);
    bf16(prefix + "norm2.weight", {vision.hidden}, kind);
    bf16(prefix + "attn.wqkv.weight", {3 * vision.hidden, vision.hidden}, kind);
    bf16(prefix + "attn.wqkv.bias", {3 * vision.hidden}, kind);
    bf16(prefix + "attn.wo.weight", {vision.hidden, vision.hidden}, kind);
    bf16(prefix + "attn.wo.bias", {vision.hidden}, kind);
    bf16(prefix + "mlp.w1.weight", {2 * vision.intermediate, vision.hidden}, kind);
    bf16(prefix + "mlp.w2.weight", {vision.hidden, vision.intermediate}, kind);
  }

  void add_vision() {
    const TensorKind kind = TensorKind::kVision;
    const VisionShape& vision = shape_.vision;
    constexpr std::int64_t kColours = 3;
    bf16("vision.patch_embed.proj.weight", {vision.hidden, kColours * vision.patch * vision.patch},
         kind);
    bf16("vision.patch_embed.proj.bias", {vision.hidden}, kind);
    for (std::int64_t i = 0; i < vision.layers; ++i) {
      add_vision_block("vision.blocks." + std::to_string(i) + ".");
    }
    bf16("vision.norm.weight", {vision.hidden}, kind);
    const std::int64_t cell = vision.downsample * vision.downsample * vision.hidden;
    bf16("aligner.w1.weight", {shape_.hidden, cell}, kind);
    bf16("aligner.w1.bias", {shape_.hidden}, kind);
    bf16("aligner.w2.weight", {shape_.hidden, shape_.hidden}, kind);
    bf16("aligner.w2.bias", {shape_.hidden}, kind);
    for (const char* name : {"image_start", "image_end", "image_newline"}) {
      bf16(name, {shape_.hidden}, kind);
    }
  }

  const ModelShape& shape_;
  std::vector<TensorSpec> specs_;
  std::int64_t layer_ = -1;
  std::int64_t shard_ = 0;
};

}  // namespace

const char* name_of(TensorKind kind) {
  switch (kind) {
    case TensorKind::kEmbedding:
      return "token embedding";
    case TensorKind::kHead:
      return "output head";
    case TensorKind::kFinalNorm:
      return "final norm";
    case TensorKind::kAttention:
      return "attention";
    case TensorKind::kNorms:
      return "attention and expert norms";
    case TensorKind::kHyperConnection:
      return "hyper-connections";
    case TensorKind::kRouter:
      return "routers";
    case TensorKind::kRoutedExperts:
      return "routed experts";
    case TensorKind::kSharedExperts:
      return "shared experts";
    case TensorKind::kCompressor:
      return "compressors";
    case TensorKind::kIndexer:
      return "indexers";
    case TensorKind::kEngramTable:
      return "engram tables";
    case TensorKind::kEngramProjection:
      return "engram projections";
    case TensorKind::kDraft:
      return "draft blocks";
    case TensorKind::kVision:
      break;
  }
  return "vision";
}

std::int64_t TensorSpec::bytes() const {
  std::int64_t total = element_bytes(type);
  for (const std::int64_t extent : shape) total *= extent;
  return total;
}

std::int64_t TensorSpec::parameters() const {
  if (type == StoredType::kF8E8m0) return 0;
  const std::int64_t stored = bytes() / element_bytes(type);
  return type == StoredType::kI8 ? 2 * stored : stored;
}

std::vector<TensorSpec> expected_tensors(const ModelShape& shape) {
  return SchemaBuilder(shape).build();
}

}  // namespace deepinfer::engine
