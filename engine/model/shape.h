// Every dimension of the network and the role of every layer, named once.
//
// Filled from config.json by engine/checkpoint/config_json.h, which also checks it; everything else
// reads it. Names follow the released configuration.
//
// Units:    elements unless a name says tokens, rows or layers
// Threads:  a plain value
// Source:   spec/model.md 1, 2
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace deepinfer::engine {

// What one backbone layer does in attention.
struct LayerRole {
  std::int64_t compress_ratio = 0;   // tokens per global entry; 0: window only
  std::int64_t kv_source = -1;       // the layer whose global entries it reads; -1: none
  std::int64_t index_source = -1;    // the layer whose selection it uses; -1: none
  bool owns_kv = false;              // has a compressor
  bool owns_index = false;           // has an indexer
  bool is_candidate_source = false;  // keeps candidate blocks for later layers
  bool uses_candidates = false;      // its indexer is restricted to them
  bool has_engram = false;
  bool is_draft_target = false;  // the stream entering it feeds the drafter
};

struct RopeScaling {
  double factor = 16;
  double beta_fast = 32;
  double beta_slow = 1;
  double original_positions = 65536;  // tokens
};

struct EngramShape {
  std::vector<std::int64_t> layer_ids;   // ascending
  std::vector<std::int64_t> table_rows;  // one for each of layer_ids
  std::int64_t max_ngram = 4;            // orders: look-backs 0 .. max_ngram - 1
  std::int64_t first_prime_after = 0;    // engram_vocab_size
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t pad_token = 2;  // token id whose compressed id stands for "nothing"
  std::int64_t compressed_vocabulary = 0;

  [[nodiscard]] std::int64_t columns() const { return (max_ngram - 1) * heads; }
  [[nodiscard]] std::int64_t width() const { return columns() * head_dim; }
};

struct DraftShape {
  std::int64_t layers = 0;  // 0: no drafter
  std::int64_t block = 5;   // draft tokens per call
  std::int64_t noise_token = 0;
  std::vector<std::int64_t> target_layers;
  std::int64_t markov_rank = 0;
  std::int64_t routed_experts = 0;
  std::int64_t experts_per_token = 0;
};

struct VisionShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t intermediate = 0;
  std::int64_t patch = 14;  // pixels
  double rope_theta = 10000;
  std::int64_t downsample = 3;  // patches per side of a cell
  std::int64_t max_image_tokens = 0;
  std::int64_t min_pixels = 0;
  double max_wh_ratio = 0;  // 0: none
};

struct ModelShape {
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t rope_dims = 0;  // the last ones of head_dim, and of index_head_dim
  std::int64_t q_rank = 0;     // q_lora_rank
  std::int64_t o_groups = 0;
  std::int64_t o_rank = 0;         // o_lora_rank, per group
  std::int64_t window = 0;         // tokens, the current one included
  std::int64_t max_positions = 0;  // tokens

  std::int64_t index_heads = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t index_top = 0;             // index_topk, latents
  std::int64_t candidate_blocks = 0;      // candidate_topk_blocks
  std::int64_t candidate_block_size = 0;  // latents

  double rope_theta = 10000;            // layers with ratio 0 and drafts
  double compress_rope_theta = 160000;  // layers with ratio > 0
  RopeScaling rope_scaling;             // with compress_rope_theta only

  std::int64_t routed_experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_hidden = 0;  // moe_intermediate_size
  double route_factor = 1.5;       // routed_scaling_factor
  double gate_temperature = 1.0;
  double swiglu_limit = 10.0;  // <= 0: none
  double norm_epsilon = 1e-20;

  std::int64_t copies = 4;  // hc_mult
  std::int64_t sinkhorn_iterations = 20;
  double hc_epsilon = 1e-6;

  std::int64_t bos_token = 0;
  std::int64_t eos_token = 1;
  std::int64_t pad_token = 2;
  std::int64_t image_token = 0;

  std::vector<LayerRole> roles;  // [layers]
  EngramShape engram;
  DraftShape draft;
  VisionShape vision;

  // The first layer of the decoder half: the first with ratio 1; `layers` if there is none.
  [[nodiscard]] std::int64_t decoder_begin() const {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      if (roles[static_cast<std::size_t>(layer)].compress_ratio == 1) return layer;
    }
    return layers;
  }
  [[nodiscard]] const LayerRole& role(std::int64_t layer) const {
    return roles[static_cast<std::size_t>(layer)];
  }
  // Rows of an hc_*_fn matrix: pre, post and comb of every copy.
  [[nodiscard]] std::int64_t mixes() const { return (2 + copies) * copies; }
};

}  // namespace deepinfer::engine
