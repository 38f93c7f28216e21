#include "engine/checkpoint/config_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "engine/checkpoint/config_reader.h"
#include "engine/checkpoint/layer_roles.h"
#include "engine/checkpoint/mapped_file.h"
#include "engine/checkpoint/strict_json.h"
#include "kernels/engram/engram.h"

namespace deepinfer::engine {
namespace {

using Json = nlohmann::json;
using Section = ConfigSection;

constexpr std::size_t kMaxConfigBytes = 16U << 20U;

// Upper bounds: far above any model of this family, low enough that products of three fit 63 bits.
constexpr std::int64_t kMaxWidth = 1 << 17;
constexpr std::int64_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxCount = 1 << 16;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 31;
constexpr std::int64_t kMaxTableRows = std::int64_t{1} << 40;
constexpr std::int64_t kMaxFirstPrime = 1 << 28;
constexpr std::int64_t kGroup = 32;  // every quantised row is cut into whole groups

// A key of the text section that has the same name in both spellings.
constexpr ConfigKey text(const char* name) { return {Section::kText, name, name}; }
constexpr ConfigKey text(const char* name, const char* flat) {
  return {Section::kText, name, flat};
}
constexpr ConfigKey root(const char* name) { return {Section::kRoot, name, name}; }
constexpr ConfigKey vision(const char* name, const char* flat) {
  return {Section::kVision, name, flat};
}
constexpr ConfigKey rope_scaling(const char* name, const char* flat) {
  return {Section::kRopeScaling, name, flat};
}

IntegerRange width() {
  return {.min = kGroup, .max = kMaxWidth, .multiple_of = kGroup, .otherwise = {}};
}
IntegerRange count(std::int64_t max) { return {.min = 1, .max = max, .otherwise = {}}; }

class ConfigParser {
 public:
  ConfigParser(const Json& tree, const std::string& where) : reader_(tree, where) {}

  ShapeOrProblems parse() {
    check_identity();
    check_numerics();
    read_sizes();
    read_attention();
    read_experts();
    read_tokens();
    read_draft();
    read_vision();
    const RoleLists lists = read_role_lists(reader_, shape_.layers);
    read_engram(lists);
    shape_.draft.target_layers = lists.draft_targets;
    check_expert_total();
    if (shape_.draft.layers > 0 && lists.draft_targets.empty()) {
      reader_.report(text("dspark_target_layer_ids"), "must name at least one layer");
    }
    shape_.roles = derive_roles(reader_, lists, shape_.layers, shape_.draft.layers);
    ShapeOrProblems out;
    out.problems = std::move(reader_.problems());
    if (out.problems.empty()) out.shape = std::move(shape_);
    return out;
  }

 private:
  void check_identity() {
    if (reader_.is_flat()) {
      reader_.expect({Section::kRoot, "dtype", "dtype"}, "fp8", /*required=*/true);
      reader_.expect(root("expert_dtype"), "fp4", /*required=*/true);
      reader_.expect(root("scale_fmt"), "ue8m0", /*required=*/false);
      return;
    }
    reader_.expect(root("architectures"), Json::array({"DeepseekV41ForCausalLM"}), true);
    reader_.expect(root("model_type"), "deepseek_v41", true);
    reader_.expect(root("dtype"), "bfloat16", true);
    const auto quantization = [](const char* name) {
      return ConfigKey{Section::kQuantization, name, ""};
    };
    reader_.expect(quantization("quant_method"), "fp8", true);
    reader_.expect(quantization("activation_scheme"), "dynamic", true);
    reader_.expect(quantization("weight_block_size"), Json::array({kGroup, kGroup}), true);
    reader_.expect(quantization("scale_fmt"), "ue8m0", true);
    reader_.expect(quantization("expert_dtype"), "fp4", true);
  }

  // Values that change the computation and that only one path exists for.
  void check_numerics() {
    const bool required = !reader_.is_flat();
    reader_.expect(text("hidden_act"), "silu", required);
    reader_.expect(text("attention_bias"), false, required);
    reader_.expect(text("attention_dropout"), 0.0, false);
    reader_.expect(text("num_key_value_heads"), 1, required);
    reader_.expect(text("scoring_func", "score_func"), "sqrtsoftplus", required);
    reader_.expect(text("topk_method"), "noaux_tc", required);
    reader_.expect(text("norm_topk_prob"), true, required);
    reader_.expect(text("n_shared_experts"), 1, required);
    reader_.expect(text("hc_mult"), 4, true);
    reader_.expect(text("hc_shifted"), true, false);
    reader_.expect(text("use_fp4_sparse_kv"), true, false);
    reader_.expect(text("dspark_target_attn_input"), true, false);
    reader_.expect(rope_scaling("rope_type", ""), "yarn", required);
    reader_.expect(root("tokenizer_compatibility"), "release", false);
  }

  void read_sizes() {
    shape_.vocabulary = reader_.integer(text("vocab_size"), count(kMaxVocabulary));
    shape_.hidden = reader_.integer(text("hidden_size", "dim"), width());
    shape_.layers = reader_.integer(text("num_hidden_layers", "n_layers"), count(kMaxLayers));
    shape_.max_positions =
        reader_.integer(text("max_position_embeddings", "max_seq_len"), count(kMaxPositions));
    shape_.sinkhorn_iterations = reader_.integer(text("hc_sinkhorn_iters"), count(1000));
    shape_.hc_epsilon = reader_.number(text("hc_eps"), {.min = 0, .max = 1, .otherwise = {}});
    shape_.norm_epsilon =
        reader_.number(text("rms_norm_eps", "norm_eps"), {.min = 0, .max = 1, .otherwise = {}});
  }

  void read_attention() {
    shape_.heads = reader_.integer(text("num_attention_heads", "n_heads"), count(kMaxCount));
    shape_.head_dim = reader_.integer(text("head_dim"), width());
    shape_.rope_dims =
        reader_.integer(text("qk_rope_head_dim", "rope_head_dim"),
                        {.min = 2, .max = kMaxWidth, .multiple_of = 2, .otherwise = {}});
    shape_.q_rank = reader_.integer(text("q_lora_rank"), width());
    shape_.o_groups = reader_.integer(text("o_groups"), count(kMaxCount));
    shape_.o_rank = reader_.integer(text("o_lora_rank"), width());
    shape_.window = reader_.integer(text("sliding_window", "window_size"), count(kMaxCount));
    shape_.index_heads = reader_.integer(text("index_n_heads"), count(kMaxCount));
    shape_.index_head_dim = reader_.integer(text("index_head_dim"), width());
    shape_.index_top = reader_.integer(text("index_topk"), count(kMaxCount));
    shape_.candidate_blocks = reader_.integer(text("candidate_topk_blocks"), count(kMaxVocabulary));
    shape_.candidate_block_size = reader_.integer(text("candidate_block_size"), count(kMaxCount));
    read_rope();
    if (shape_.heads % shape_.o_groups != 0) {
      reader_.report(text("o_groups"), std::to_string(shape_.o_groups) + " groups do not divide " +
                                           std::to_string(shape_.heads) + " heads");
    }
    const std::int64_t narrower = std::min(shape_.head_dim, shape_.index_head_dim);
    if (shape_.rope_dims > narrower) {
      reader_.report(text("qk_rope_head_dim", "rope_head_dim"),
                     std::to_string(shape_.rope_dims) +
                         " rotated dims do not fit head_dim and index_head_dim, the smaller is " +
                         std::to_string(narrower));
    }
  }

  void read_rope() {
    constexpr NumberRange kBase{.min = 1, .max = 1e12, .otherwise = {}};
    constexpr NumberRange kFactor{.min = 1, .max = 1e6, .otherwise = {}};
    shape_.rope_theta = reader_.number(text("rope_theta"), kBase);
    shape_.compress_rope_theta = reader_.number(text("compress_rope_theta"), kBase);
    RopeScaling& scaling = shape_.rope_scaling;
    scaling.factor = reader_.number(rope_scaling("factor", "rope_factor"), kFactor);
    scaling.beta_fast = reader_.number(rope_scaling("beta_fast", "beta_fast"), kFactor);
    scaling.beta_slow = reader_.number(rope_scaling("beta_slow", "beta_slow"), kFactor);
    scaling.original_positions =
        reader_.number(rope_scaling("original_max_position_embeddings", "original_seq_len"),
                       {.min = 1, .max = double{kMaxPositions}, .otherwise = {}});
  }

  void read_experts() {
    shape_.routed_experts = reader_.integer(text("n_routed_experts"), count(kMaxCount));
    shape_.experts_per_token =
        reader_.integer(text("num_experts_per_tok", "n_activated_experts"), count(kMaxCount));
    shape_.expert_hidden = reader_.integer(text("moe_intermediate_size", "moe_inter_dim"), width());
    shape_.route_factor = reader_.number(text("routed_scaling_factor", "route_scale"),
                                         {.min = 0, .max = 1e6, .otherwise = {}});
    shape_.gate_temperature =
        reader_.number(text("gate_temp"), {.min = 1e-6, .max = 1e6, .otherwise = 1.0});
    shape_.swiglu_limit =
        reader_.number(text("swiglu_limit"), {.min = -1e6, .max = 1e6, .otherwise = {}});
    if (shape_.experts_per_token > shape_.routed_experts) {
      reader_.report(text("num_experts_per_tok", "n_activated_experts"),
                     std::to_string(shape_.experts_per_token) + " experts for a token, there are " +
                         std::to_string(shape_.routed_experts));
    }
  }

  // The list of tensors is made from the configuration alone: it must not exhaust the memory.
  void check_expert_total() {
    constexpr std::int64_t kMaxExperts = 1 << 18;  // the released model has 15,744
    const std::int64_t experts =
        shape_.layers * shape_.routed_experts + shape_.draft.layers * shape_.draft.routed_experts;
    if (experts <= kMaxExperts) return;
    reader_.report(text("n_routed_experts"), "all layers together have " + std::to_string(experts) +
                                                 " experts, over the limit of " +
                                                 std::to_string(kMaxExperts));
  }

  // An entry of the vocabulary. The released ids stand in where the reference's file has none.
  std::int64_t token(const ConfigKey& key, std::int64_t released) {
    IntegerRange range{.min = 0, .max = shape_.vocabulary - 1, .otherwise = {}};
    if (reader_.is_flat() && released < shape_.vocabulary) range.otherwise = released;
    return reader_.integer(key, range);
  }

  void read_tokens() {
    shape_.bos_token = token(root("bos_token_id"), 0);
    shape_.eos_token = token(root("eos_token_id"), 1);
    shape_.pad_token = token(root("pad_token_id"), 2);
    shape_.image_token = token(root("image_token_id"), 129264);
  }

  void read_draft() {
    DraftShape& draft = shape_.draft;
    draft.layers = reader_.integer(text("num_nextn_predict_layers", "n_mtp_layers"),
                                   {.min = 0, .max = 16, .otherwise = 0});
    if (draft.layers == 0) return;
    draft.block = reader_.integer(text("dspark_block_size"), count(64));
    draft.noise_token = reader_.integer(text("dspark_noise_token_id"),
                                        {.min = 0, .max = shape_.vocabulary - 1, .otherwise = {}});
    draft.markov_rank = reader_.integer(text("dspark_markov_rank"), width());
    draft.routed_experts = reader_.integer(text("dspark_n_routed_experts"), count(kMaxCount));
    draft.experts_per_token = reader_.integer(
        text("dspark_num_experts_per_tok", "dspark_n_activated_experts"), count(kMaxCount));
    if (draft.experts_per_token > draft.routed_experts) {
      reader_.report(text("dspark_num_experts_per_tok", "dspark_n_activated_experts"),
                     std::to_string(draft.experts_per_token) +
                         " draft experts for a token, there are " +
                         std::to_string(draft.routed_experts));
    }
  }

  void read_vision() {
    const ConfigKey layers = vision("num_hidden_layers", "vision_n_layers");
    const bool is_there =
        reader_.is_flat() ? reader_.has(layers) : reader_.has_section(Section::kVision);
    if (!is_there) return;  // a text-only model
    VisionShape& eye = shape_.vision;
    eye.layers = vision_count(layers, kMaxLayers);
    eye.hidden = vision_count(vision("hidden_size", "vision_dim"), kMaxWidth);
    eye.heads = vision_count(vision("num_attention_heads", "vision_n_heads"), kMaxCount);
    eye.intermediate = vision_count(vision("intermediate_size", "vision_inter_dim"), kMaxWidth);
    eye.patch = vision_count(vision("patch_size", "vision_patch_size"), 1024);
    eye.downsample = vision_count(vision("downsample_ratio", "vision_downsample_ratio"), 64);
    eye.max_image_tokens =
        vision_count(vision("max_image_tokens", "vision_max_n_token"), kMaxPositions);
    eye.min_pixels = vision_count(vision("min_pixels", "vision_min_pixels"), kMaxPositions);
    eye.rope_theta = reader_.number(vision("rope_theta", "vision_rope_theta"),
                                    {.min = 1, .max = 1e12, .otherwise = 10000.0});
    eye.max_wh_ratio = reader_.number(vision("max_wh_ratio", "vision_max_wh_ratio"),
                                      {.min = 1, .max = 1e6, .otherwise = 0.0});
    if (eye.hidden % eye.heads != 0 || eye.hidden / eye.heads % 4 != 0) {
      reader_.report(vision("num_attention_heads", "vision_n_heads"),
                     std::to_string(eye.heads) + " heads do not cut hidden_size " +
                         std::to_string(eye.hidden) + " into multiples of 4");
    }
  }

  std::int64_t vision_count(const ConfigKey& key, std::int64_t max) {
    return reader_.integer(key, count(max));
  }

  void read_engram(const RoleLists& lists) {
    EngramShape& engram = shape_.engram;
    engram.layer_ids = lists.engram_layers;
    if (engram.layer_ids.empty()) return;
    constexpr std::int64_t kMaxNgram = 8;
    constexpr std::int64_t kMaxHeads = 64;
    engram.table_rows = reader_.integers(text("engram_num_embeddings"), count(kMaxTableRows), true);
    engram.max_ngram = reader_.integer(text("engram_max_ngram_size"),
                                       {.min = 2, .max = kMaxNgram, .otherwise = {}});
    engram.first_prime_after = reader_.integer(text("engram_vocab_size"),
                                               {.min = 2, .max = kMaxFirstPrime, .otherwise = {}});
    engram.heads = reader_.integer(text("engram_n_heads"), count(kMaxHeads));
    engram.head_dim = reader_.integer(text("engram_head_dim"), width());
    engram.pad_token = reader_.integer(text("engram_pad_token_id", "engram_pad_id"),
                                       {.min = 0, .max = shape_.vocabulary - 1, .otherwise = 2});
    engram.compressed_vocabulary =
        reader_.integer(text("engram_compressed_vocab_size"), count(shape_.vocabulary));
    if (engram.table_rows.size() != engram.layer_ids.size()) {
      reader_.report(text("engram_num_embeddings"),
                     "needs one entry for each of the " + std::to_string(engram.layer_ids.size()) +
                         " Engram layers, has " + std::to_string(engram.table_rows.size()));
      return;
    }
    constexpr std::size_t kMaxTables = 16;
    if (engram.layer_ids.size() > kMaxTables) {
      reader_.report(text("engram_layer_ids"), "names more than 16 layers");
      return;
    }
    if (reader_.problems().empty()) check_table_rows();
  }

  // The hash reaches exactly as many rows as its primes add up to.
  void check_table_rows() {
    const EngramShape& engram = shape_.engram;
    const std::vector<kernels::EngramHash> hashes =
        kernels::engram_hashes({.layer_ids = engram.layer_ids,
                                .orders = engram.max_ngram,
                                .heads = engram.heads,
                                .first_prime_after = engram.first_prime_after,
                                .compressed_vocabulary = engram.compressed_vocabulary});
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      const std::int64_t rows =
          std::accumulate(hashes[i].primes.begin(), hashes[i].primes.end(), std::int64_t{0});
      if (rows == engram.table_rows[i]) continue;
      reader_.report(text("engram_num_embeddings"),
                     "the table of layer " + std::to_string(engram.layer_ids[i]) + " needs " +
                         std::to_string(rows) + " rows for its hash, the file says " +
                         std::to_string(engram.table_rows[i]));
    }
  }

  ConfigReader reader_;
  ModelShape shape_;
};

Problem file_problem(const std::string& where, std::string what) {
  return {.where = where,
          .what = std::move(what),
          .mend = "use the config.json that belongs to the weights"};
}

}  // namespace

ShapeOrProblems parse_config(const std::string& text, const std::string& where) {
  ShapeOrProblems out;
  const StrictJson parsed = parse_strict_json(text);
  if (parsed.error) {
    out.problems.push_back(file_problem(where, *parsed.error));
    return out;
  }
  if (!parsed.value.is_object()) {
    out.problems.push_back(file_problem(where, "not a JSON object, is " + shown(parsed.value)));
    return out;
  }
  out = ConfigParser(parsed.value, where).parse();
  for (const std::string& key : parsed.duplicates) {
    out.problems.push_back(file_problem(where, "the key \"" + key + "\" occurs twice"));
  }
  if (!out.problems.empty()) out.shape.reset();
  return out;
}

ShapeOrProblems read_config(const std::filesystem::path& folder) {
  const Result<std::string> text = read_text(folder / "config.json", kMaxConfigBytes);
  if (text) return parse_config(*text, "config.json");
  ShapeOrProblems out;
  out.problems.push_back({.where = "config.json",
                          .what = text.error().message,
                          .mend = "name the folder that holds config.json and the weights"});
  return out;
}

}  // namespace deepinfer::engine
