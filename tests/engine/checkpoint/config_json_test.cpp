// parse_config: both spellings, the roles of layers, every range.
#include "engine/checkpoint/config_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/assets.h"
#include "engine/checkpoint/synth/presets.h"
#include "tests/engine/checkpoint/small_file.h"
#include "tests/support/golden_file.h"

namespace deepinfer::engine {
namespace {

using test::text_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json released() { return Json::parse(released_config()); }

ShapeOrProblems parse(const Json& config) { return parse_config(config.dump(), "config.json"); }

TEST(ConfigJson, ReadsTheReleasedModel) {
  const ShapeOrProblems parsed = parse(released());

  ASSERT_TRUE(parsed.shape) << text_of(parsed.problems);
  const ModelShape& shape = *parsed.shape;
  EXPECT_EQ(shape.vocabulary, 129280);
  EXPECT_EQ(shape.hidden, 5120);
  EXPECT_EQ(shape.layers, 40);
  EXPECT_EQ(shape.decoder_begin(), 20);
  EXPECT_EQ(shape.norm_epsilon, 1e-20);
  EXPECT_EQ(shape.mixes(), 24);
  EXPECT_EQ(shape.engram.width(), 6144);
  EXPECT_THAT(shape.engram.table_rows, ElementsAre(384006168, 384016682));
  EXPECT_THAT(shape.draft.target_layers, ElementsAre(37, 38, 39));
  EXPECT_EQ(shape.vision.layers, 32);
  EXPECT_EQ(shape.image_token, 129264);
}

TEST(ConfigJson, DerivesTheRolesOfTheReleasedLayers) {
  const ShapeOrProblems parsed = parse(released());
  ASSERT_TRUE(parsed.shape) << text_of(parsed.problems);
  const ModelShape& shape = *parsed.shape;

  const std::vector<std::int64_t> kv_of = {-1, -1, 2, 2, 2, 2, 2, 2, 8, 8, 8, 8, 8, 8, 14};
  for (std::size_t layer = 0; layer < kv_of.size(); ++layer) {
    EXPECT_EQ(shape.roles[layer].kv_source, kv_of[layer]) << layer;
    EXPECT_EQ(shape.roles[layer].index_source, kv_of[layer]) << layer;
  }
  for (std::int64_t layer = 20; layer < 40; ++layer) {
    EXPECT_EQ(shape.role(layer).kv_source, 20) << layer;
    EXPECT_EQ(shape.role(layer).index_source, layer / 4 * 4) << layer;
    EXPECT_EQ(shape.role(layer).uses_candidates, layer % 4 == 0 && layer > 20) << layer;
    EXPECT_EQ(shape.role(layer).is_candidate_source, layer == 20) << layer;
    EXPECT_EQ(shape.role(layer).is_draft_target, layer >= 37) << layer;
  }
  EXPECT_TRUE(shape.role(1).has_engram);
  EXPECT_TRUE(shape.role(14).has_engram && shape.role(14).owns_kv && shape.role(14).owns_index);
  EXPECT_FALSE(shape.role(24).owns_kv);
}

TEST(ConfigJson, ReadsTheGoldenTinyAndNanoConfigurations) {
  for (const auto& folder : {test::data_path("golden/tiny"), test::model_path("nano")}) {
    const ShapeOrProblems parsed = read_config(folder);
    EXPECT_TRUE(parsed.shape) << folder << "\n" << text_of(parsed.problems);
  }
}

TEST(ConfigJson, ReadsTheFlatNamesOfTheReferenceProgram) {
  const Json config = {{"dtype", "fp8"},
                       {"expert_dtype", "fp4"},
                       {"vocab_size", 1280},
                       {"dim", 256},
                       {"moe_inter_dim", 96},
                       {"n_layers", 8},
                       {"n_heads", 8},
                       {"head_dim", 64},
                       {"rope_head_dim", 32},
                       {"q_lora_rank", 128},
                       {"o_lora_rank", 64},
                       {"o_groups", 4},
                       {"swiglu_limit", 3.0},
                       {"norm_eps", 1e-20},
                       {"max_seq_len", 512},
                       {"rope_theta", 10000},
                       {"compress_rope_theta", 160000},
                       {"rope_factor", 4},
                       {"beta_fast", 32},
                       {"beta_slow", 1},
                       {"original_seq_len", 128},
                       {"n_routed_experts", 12},
                       {"n_activated_experts", 3},
                       {"score_func", "sqrtsoftplus"},
                       {"route_scale", 1.5},
                       {"window_size", 16},
                       {"compress_ratios", {0, 2, 2, 2, 1, 1, 1, 1}},
                       {"kv_source_layers", {1, 3, 4}},
                       {"index_source_layers", {1, 3, 4, 6}},
                       {"index_n_heads", 4},
                       {"index_head_dim", 64},
                       {"index_topk", 8},
                       {"candidate_source_layer", 4},
                       {"candidate_topk_blocks", 4},
                       {"candidate_block_size", 4},
                       {"hc_mult", 4},
                       {"hc_sinkhorn_iters", 20},
                       {"hc_eps", 1e-6},
                       {"engram_layer_ids", {1, 3}},
                       {"engram_num_embeddings", {630, 834}},
                       {"engram_max_ngram_size", 4},
                       {"engram_vocab_size", 97},
                       {"engram_n_heads", 2},
                       {"engram_head_dim", 64},
                       {"engram_pad_id", 2},
                       {"engram_compressed_vocab_size", 1002},
                       {"n_mtp_layers", 3},
                       {"dspark_block_size", 5},
                       {"dspark_noise_token_id", 1264},
                       {"dspark_target_layer_ids", {5, 6, 7}},
                       {"dspark_markov_rank", 32},
                       {"dspark_n_routed_experts", 8},
                       {"dspark_n_activated_experts", 2},
                       {"image_token_id", 1279},
                       {"vision_n_layers", 2},
                       {"vision_dim", 64},
                       {"vision_n_heads", 4},
                       {"vision_inter_dim", 96},
                       {"vision_patch_size", 14},
                       {"vision_downsample_ratio", 3},
                       {"vision_max_n_token", 64},
                       {"vision_min_pixels", 7056}};

  const ShapeOrProblems flat = parse(config);
  const ShapeOrProblems nested = read_config(test::data_path("golden/tiny"));

  ASSERT_TRUE(flat.shape) << text_of(flat.problems);
  ASSERT_TRUE(nested.shape);
  EXPECT_EQ(flat.shape->hidden, nested.shape->hidden);
  EXPECT_EQ(flat.shape->expert_hidden, nested.shape->expert_hidden);
  EXPECT_EQ(flat.shape->window, nested.shape->window);
  EXPECT_EQ(flat.shape->rope_scaling.original_positions, 128);
  EXPECT_EQ(flat.shape->engram.pad_token, 2);
  EXPECT_EQ(flat.shape->draft.experts_per_token, 2);
  EXPECT_EQ(flat.shape->vision.hidden, 64);
  EXPECT_EQ(flat.shape->roles[6].index_source, 6);
}

TEST(ConfigJson, NamesAFlatKeyByItsFlatPointer) {
  const ShapeOrProblems parsed = parse({{"dim", 33}});

  EXPECT_THAT(text_of(parsed.problems), HasSubstr("config.json: /dim: must be a whole number"));
  EXPECT_THAT(text_of(parsed.problems), HasSubstr("config.json: /n_layers: is missing"));
}

TEST(ConfigJson, TakesAMissingTailOfRatiosAsWindowOnlyDrafts) {
  Json config = released();
  Json& ratios = config["text_config"]["compress_ratios"];
  ratios.erase(ratios.begin() + 40, ratios.end());

  EXPECT_TRUE(parse(config).shape);
}

TEST(ConfigJson, RunsWithoutDraftsVisionOrEngram) {
  Json config = released();
  config.erase("vision_config");
  Json& text = config["text_config"];
  text.erase("num_nextn_predict_layers");
  text["compress_ratios"].erase(text["compress_ratios"].begin() + 40,
                                text["compress_ratios"].end());
  text.erase("engram_layer_ids");

  const ShapeOrProblems parsed = parse(config);

  ASSERT_TRUE(parsed.shape) << text_of(parsed.problems);
  EXPECT_EQ(parsed.shape->draft.layers, 0);
  EXPECT_EQ(parsed.shape->vision.layers, 0);
  EXPECT_TRUE(parsed.shape->engram.layer_ids.empty());
}

TEST(ConfigJson, AcceptsEveryPreset) {
  for (const std::string_view name : preset_names()) {
    const auto text = preset_config(name);
    ASSERT_TRUE(text) << text.error().message;
    const ShapeOrProblems parsed = parse_config(*text, std::string(name));
    EXPECT_TRUE(parsed.shape) << text_of(parsed.problems);
  }
}

struct BadValue {
  const char* name;
  const char* pointer;
  Json value;
  const char* says;
};

std::vector<BadValue> bad_values() {
  return {
      {"Architecture", "/architectures", {"Other"}, "runs [\"DeepseekV41ForCausalLM\"] only"},
      {"ModelType", "/model_type", "deepseek_v4", "runs \"deepseek_v41\" only"},
      {"Quantisation", "/quantization_config/quant_method", "nvfp4", "runs \"fp8\" only"},
      {"BlockSize", "/quantization_config/weight_block_size", {128, 128}, "runs [32,32] only"},
      {"ExpertType", "/quantization_config/expert_dtype", "fp8", "runs \"fp4\" only"},
      {"Activation", "/text_config/hidden_act", "gelu", "runs \"silu\" only"},
      {"Bias", "/text_config/attention_bias", true, "runs false only"},
      {"Copies", "/text_config/hc_mult", 2, "runs 4 only"},
      {"HiddenNotWhole", "/text_config/hidden_size", 5120.5, "is 5120.5"},
      {"HiddenText", "/text_config/hidden_size", "5120", "is \"5120\""},
      {"HiddenOdd", "/text_config/hidden_size", 5121, "a multiple of 32"},
      {"HiddenNegative", "/text_config/hidden_size", -5120, "is -5120"},
      {"HiddenHuge", "/text_config/hidden_size", 9223372036854775808U, "9223372036854775808"},
      {"LayersZero", "/text_config/num_hidden_layers", 0, "from 1 to"},
      {"HeadDim", "/text_config/head_dim", 500, "a multiple of 32"},
      {"IndexHeadDim", "/text_config/index_head_dim", 100, "a multiple of 32"},
      {"QueryRank", "/text_config/q_lora_rank", 1290, "a multiple of 32"},
      {"ExpertHidden", "/text_config/moe_intermediate_size", 2300, "a multiple of 32"},
      {"OutputGroups", "/text_config/o_groups", 7, "7 groups do not divide 64 heads"},
      {"OutputRank", "/text_config/o_lora_rank", 1000, "a multiple of 32"},
      {"RopeOdd", "/text_config/qk_rope_head_dim", 63, "a multiple of 2"},
      {"RopeWide", "/text_config/qk_rope_head_dim", 256, "256 rotated dims do not fit"},
      {"IndexTopZero", "/text_config/index_topk", 0, "from 1 to"},
      {"TooManyActive", "/text_config/num_experts_per_tok", 385, "385 experts for a token"},
      {"EngramWidth", "/text_config/engram_head_dim", 100, "a multiple of 32"},
      {"EngramRows",
       "/text_config/engram_num_embeddings",
       {384006168, 384016683},
       "needs 384016682 rows for its hash"},
      {"EngramTables", "/text_config/engram_num_embeddings", {384006168}, "needs one entry"},
      {"RatioThree", "/text_config/compress_ratios", {3}, "from 0 to 2, is 3"},
      {"RatiosFew", "/text_config/compress_ratios", {0, 0, 2}, "has 3"},
      {"SourcesDescend", "/text_config/kv_source_layer_ids", {8, 2, 14, 20}, "must ascend"},
      {"SourceOutside", "/text_config/kv_source_layer_ids", {2, 8, 14, 40}, "is 40"},
      {"SourceWithoutRatio",
       "/text_config/kv_source_layer_ids",
       {1, 2, 8, 14, 20},
       "layer 1 has ratio 0"},
      {"SourceMissing",
       "/text_config/kv_source_layer_ids",
       {8, 14, 20},
       "layer 2 has ratio 2 and no KV source"},
      {"SourceOtherRatio",
       "/text_config/kv_source_layer_ids",
       {2, 8, 14},
       "layer 20 has ratio 1, its KV source 14 has 2"},
      {"SourceWithoutIndex",
       "/text_config/index_source_layer_ids",
       {2, 8, 20, 24},
       "layer 14 is a KV source, it must be an index source too"},
      {"Candidate", "/text_config/candidate_source_layer_id", 24, "must be a KV source"},
      {"Epsilon", "/text_config/rms_norm_eps", "tiny", "a number from 0 to 1"},
      {"Token", "/bos_token_id", 129280, "from 0 to 129279"},
      {"NoiseToken", "/text_config/dspark_noise_token_id", -1, "from 0 to 129279"},
      {"DraftTargets", "/text_config/dspark_target_layer_ids", Json::array(), "at least one layer"},
      {"DraftExperts", "/text_config/dspark_num_experts_per_tok", 129, "129 draft experts"},
      {"ExpertFlood", "/text_config/n_routed_experts", 65536, "over the limit of 262144"},
      {"VisionHeads", "/vision_config/num_attention_heads", 7, "7 heads do not cut"},
      {"WideImages", "/vision_config/max_wh_ratio", 0.5, "a number from 1 to"},
  };
}

class BadConfig : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadConfig, IsRefusedWithItsPointer) {
  Json config = released();
  config[Json::json_pointer(GetParam().pointer)] = GetParam().value;

  const ShapeOrProblems parsed = parse(config);

  EXPECT_FALSE(parsed.shape);
  EXPECT_THAT(text_of(parsed.problems), HasSubstr(GetParam().says));
  EXPECT_THAT(text_of(parsed.problems), HasSubstr("config.json: /"));
}

INSTANTIATE_TEST_SUITE_P(ConfigJson, BadConfig, ::testing::ValuesIn(bad_values()),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(ConfigJson, ReportsEveryProblemAtOnce) {
  Json config = released();
  config["text_config"]["hidden_size"] = 5;
  config["text_config"].erase("head_dim");
  config["quantization_config"]["scale_fmt"] = "float";

  const std::string text = text_of(parse(config).problems);

  EXPECT_THAT(text, HasSubstr("config.json: /text_config/hidden_size: must be"));
  EXPECT_THAT(text, HasSubstr("config.json: /text_config/head_dim: is missing"));
  EXPECT_THAT(text, HasSubstr("config.json: /quantization_config/scale_fmt: this engine runs"));
}

TEST(ConfigJson, RefusesWhatIsNoObjectOrHasAKeyTwice) {
  EXPECT_FALSE(parse_config("", "config.json").shape);
  EXPECT_FALSE(parse_config("[]", "config.json").shape);
  std::string twice(released_config());
  twice.insert(twice.find('{') + 1, "\"dtype\": \"bfloat16\",");
  EXPECT_THAT(text_of(parse_config(twice, "config.json").problems),
              HasSubstr("the key \"dtype\" occurs twice"));
}

}  // namespace
}  // namespace deepinfer::engine
