#include "engine/checkpoint/synth/presets.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/assets.h"
#include "kernels/engram/engram.h"

namespace deepinfer::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kNames = {"tiny", "mid", "s8", "r4", "r8", "full"};

// One prime per head from here on: 24 heads make 25 M rows of 6.7 GB, far more than any cache.
constexpr std::int64_t kReducedTable = 1048576;

// The hash reaches the sum of its primes; the tables must have exactly that many rows.
void size_tables(Json& text) {
  const std::vector<kernels::EngramHash> hashes = kernels::engram_hashes(
      {.layer_ids = text["engram_layer_ids"].get<std::vector<std::int64_t>>(),
       .orders = text["engram_max_ngram_size"].get<std::int64_t>(),
       .heads = text["engram_n_heads"].get<std::int64_t>(),
       .first_prime_after = text["engram_vocab_size"].get<std::int64_t>(),
       .compressed_vocabulary = text["engram_compressed_vocab_size"].get<std::int64_t>()});
  text["engram_num_embeddings"] = Json::array();
  for (const kernels::EngramHash& hash : hashes) {
    text["engram_num_embeddings"].push_back(
        std::accumulate(hash.primes.begin(), hash.primes.end(), std::int64_t{0}));
  }
}

// The small models keep vocabulary, drafts' block, numerics and eyes' geometry of the released one.
Json small_vision() {
  return {{"num_hidden_layers", 2},  {"hidden_size", 64},      {"num_attention_heads", 4},
          {"intermediate_size", 96}, {"max_image_tokens", 64}, {"min_pixels", 7056}};
}

Json tiny_text() {
  return {{"hidden_size", 512},
          {"moe_intermediate_size", 256},
          {"num_hidden_layers", 8},
          {"num_attention_heads", 8},
          {"head_dim", 128},
          {"q_lora_rank", 256},
          {"o_lora_rank", 128},
          {"o_groups", 4},
          {"max_position_embeddings", 8192},
          {"rope_scaling",
           {{"rope_type", "yarn"},
            {"factor", 4},
            {"beta_fast", 32},
            {"beta_slow", 1},
            {"original_max_position_embeddings", 2048}}},
          {"n_routed_experts", 32},
          {"num_experts_per_tok", 4},
          {"compress_ratios", {0, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0}},
          {"kv_source_layer_ids", {1, 3, 4}},
          {"index_source_layer_ids", {1, 3, 4, 6}},
          {"index_n_heads", 8},
          {"index_head_dim", 64},
          {"index_topk", 128},
          {"candidate_source_layer_id", 4},
          {"candidate_topk_blocks", 64},
          {"engram_layer_ids", {1, 3}},
          {"engram_vocab_size", 4096},
          {"engram_n_heads", 4},
          {"engram_head_dim", 64},
          {"dspark_target_layer_ids", {5, 6, 7}},
          {"dspark_markov_rank", 64},
          {"dspark_n_routed_experts", 16},
          {"dspark_num_experts_per_tok", 2}};
}

// Active per token, in millions: head 132.4; each of 12 layers: attention 2.5, 4 + 1 experts of 0.59,
// router and mixes 0.26; Engram projections 7.9, compressors and indexers 1.3; together 210.
// Stored, in MB: embedding and head 530, experts 12 x 64 x 0.31 = 241, the rest of the layers 58,
// drafts 63, Engram tables 26: about 0.92 GB.
Json mid_text() {
  return {{"hidden_size", 1024},
          {"moe_intermediate_size", 192},
          {"num_hidden_layers", 12},
          {"num_attention_heads", 16},
          {"head_dim", 128},
          {"q_lora_rank", 256},
          {"o_lora_rank", 256},
          {"o_groups", 4},
          {"max_position_embeddings", 16384},
          {"rope_scaling",
           {{"rope_type", "yarn"},
            {"factor", 4},
            {"beta_fast", 32},
            {"beta_slow", 1},
            {"original_max_position_embeddings", 4096}}},
          {"n_routed_experts", 64},
          {"num_experts_per_tok", 4},
          {"compress_ratios", {0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0}},
          {"kv_source_layer_ids", {2, 4, 6}},
          {"index_source_layer_ids", {2, 4, 6, 8, 10}},
          {"index_n_heads", 8},
          {"index_head_dim", 64},
          {"index_topk", 256},
          {"candidate_source_layer_id", 6},
          {"candidate_topk_blocks", 512},
          {"engram_layer_ids", {1, 4}},
          {"engram_vocab_size", 16384},
          {"engram_n_heads", 4},
          {"engram_head_dim", 64},
          {"dspark_target_layer_ids", {9, 10, 11}},
          {"dspark_markov_rank", 64},
          {"dspark_n_routed_experts", 16},
          {"dspark_num_experts_per_tok", 2}};
}

// Layers 0, 1, 2, 3, 20, 21, 24, 25: every kind that the released model has, at full width.
Json s8_text() {
  return {{"num_hidden_layers", 8},
          {"compress_ratios", {0, 0, 2, 2, 1, 1, 1, 1, 0, 0, 0}},
          {"kv_source_layer_ids", {2, 4}},
          {"index_source_layer_ids", {2, 4, 6}},
          {"candidate_source_layer_id", 4},
          {"engram_layer_ids", {1}},
          {"engram_vocab_size", kReducedTable},
          {"dspark_target_layer_ids", {5, 6, 7}}};
}

// One expert shard of `ranks`: the same load per expert as a rank of the whole model sees.
Json shard_text(std::int64_t ranks) {
  constexpr std::int64_t kExperts = 384;
  constexpr std::int64_t kDraftExperts = 128;
  return {{"n_routed_experts", kExperts / ranks},
          {"dspark_n_routed_experts", kDraftExperts / ranks},
          {"engram_vocab_size", kReducedTable}};
}

Json text_changes(std::string_view name) {
  if (name == "tiny") return tiny_text();
  if (name == "mid") return mid_text();
  if (name == "s8") return s8_text();
  if (name == "r4") return shard_text(4);
  if (name == "r8") return shard_text(8);
  return Json::object();
}

}  // namespace

std::span<const std::string_view> preset_names() { return kNames; }

Result<std::string> preset_config(std::string_view name) {
  bool known = false;
  std::string all;
  for (const std::string_view other : kNames) {
    known = known || other == name;
    all += all.empty() ? "" : ", ";
    all += other;
  }
  if (!known) {
    return fail(ErrorCode::kInvalidArgument,
                "there is no preset " + std::string(name) + ", there are " + all);
  }
  Json config = Json::parse(released_config(), nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded()) {
    return fail(ErrorCode::kInternal, "the built-in config.json is damaged");
  }
  Json& text = config["text_config"];
  text.update(text_changes(name));
  if (name == "tiny" || name == "mid") config["vision_config"].update(small_vision());
  if (name != "full") size_tables(text);
  return config.dump(2) + "\n";
}

}  // namespace deepinfer::engine
