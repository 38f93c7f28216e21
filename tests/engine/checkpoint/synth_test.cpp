// Generated weights: determined by seed and name, of sane scale; folders that are whole or absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/assets.h"
#include "engine/checkpoint/config_json.h"
#include "engine/checkpoint/folder_writer.h"
#include "engine/checkpoint/schema.h"
#include "engine/checkpoint/synth/presets.h"
#include "engine/checkpoint/synth/recipe.h"
#include "engine/checkpoint/synth/synth_weights.h"
#include "kernels/float_types.h"
#include "tests/engine/checkpoint/small_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::engine {
namespace {

using test::TempFolder;
using ::testing::HasSubstr;

ModelShape tiny_shape() {
  const auto text = preset_config("tiny");
  if (!text) return {};
  ShapeOrProblems parsed = parse_config(*text, "tiny");
  return parsed.shape.value_or(ModelShape{});
}

class Synth : public ::testing::Test {
 protected:
  const TensorSpec& spec(const std::string& name) const {
    for (const TensorSpec& candidate : specs_) {
      if (candidate.name == name) return candidate;
    }
    throw std::runtime_error("no tensor " + name);
  }

  std::vector<std::uint8_t> whole(std::uint64_t seed, const std::string& name) const {
    SynthWeights weights(shape_, seed);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(spec(name).bytes()));
    weights.fill(spec(name), 0, bytes);
    return bytes;
  }

  const ModelShape shape_ = tiny_shape();
  const std::vector<TensorSpec> specs_ = expected_tensors(shape_);
};

TEST_F(Synth, GivesTheSameBytesForTheSameSeedAndNameOnly) {
  const std::string name = "layers.0.attn.wq_a.weight";

  EXPECT_EQ(whole(7, name), whole(7, name));
  EXPECT_NE(whole(7, name), whole(8, name));
  EXPECT_NE(whole(7, name), whole(7, "layers.1.attn.wq_a.weight"));
}

TEST_F(Synth, GivesAnyPieceOfATensorAlone) {
  for (const char* name :
       {"layers.0.attn.wq_a.weight", "layers.0.attn.wq_a.scale", "norm.weight",
        "layers.0.hc_attn_fn", "layers.0.hc_attn_base", "layers.0.ffn.experts.3.w1.weight"}) {
    const std::vector<std::uint8_t> all = whole(7, name);
    SynthWeights weights(shape_, 7);
    const std::int64_t step = 3 * element_bytes(spec(name).type);
    std::vector<std::uint8_t> pieces;
    for (std::int64_t at = 0; at < spec(name).bytes(); at += step) {
      std::vector<std::uint8_t> piece(
          static_cast<std::size_t>(std::min(step, spec(name).bytes() - at)));
      weights.fill(spec(name), at, piece);
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(pieces, all) << name;
  }
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST_F(Synth, ScalesQuantisedWeightsByTheLengthOfTheirRows) {
  // Row lengths 512 and 256: linear maps keep the root mean square, experts' w2 halves it.
  const auto fp8_codes = whole(7, "layers.0.attn.wq_a.weight");
  const auto fp8_scales = whole(7, "layers.0.attn.wq_a.scale");
  std::vector<double> fp8;
  for (std::size_t i = 0; i < fp8_codes.size(); ++i) {
    const std::size_t block = i / 512 / 32 * 16 + i % 512 / 32;
    fp8.push_back(double{kernels::e4m3_to_float(fp8_codes[i])} *
                  double{kernels::e8m0_to_float(fp8_scales[block])});
  }
  const auto fp4_codes = whole(7, "layers.0.ffn.experts.0.w2.weight");
  const auto fp4_scales = whole(7, "layers.0.ffn.experts.0.w2.scale");
  std::vector<double> fp4;
  for (std::size_t i = 0; i < 2 * fp4_codes.size(); ++i) {
    const unsigned pair = fp4_codes[i / 2];
    const auto code = static_cast<std::uint8_t>(i % 2 == 0 ? pair & 15U : pair >> 4U);
    fp4.push_back(double{kernels::e2m1_to_float(code)} *
                  double{kernels::e8m0_to_float(fp4_scales[i / 32])});
  }

  EXPECT_NEAR(root_mean_square(fp8) * std::sqrt(512.0), 1.0, 0.1);
  EXPECT_NEAR(root_mean_square(fp4) * std::sqrt(256.0), 0.5, 0.05);
}

TEST_F(Synth, MixesTheCopiesALittle) {
  const auto bytes = whole(7, "layers.0.hc_ffn_base");
  std::vector<float> base(24);
  std::memcpy(base.data(), bytes.data(), bytes.size());

  for (std::size_t copy = 0; copy < 4; ++copy) {
    EXPECT_NEAR(base[copy], -1.0986, 0.5);             // sigmoid: a quarter
    EXPECT_NEAR(base[4 + copy], 0.0, 0.5);             // twice the sigmoid: one
    EXPECT_NEAR(base[8 + 4 * copy + copy], 2.0, 0.5);  // stays mostly where it is
  }
}

TEST(Recipe, KeepsEveryScaleAndCodeInRange) {
  for (const std::string_view preset : preset_names()) {
    const auto text = preset_config(preset);
    ASSERT_OK(text);
    const ShapeOrProblems parsed = parse_config(*text, "preset");
    ASSERT_TRUE(parsed.shape);
    for (const TensorSpec& spec : expected_tensors(*parsed.shape)) {
      const Recipe recipe = recipe_for(spec);
      if (spec.type == StoredType::kF8E8m0) {
        ASSERT_GT(recipe.scale_byte, 64) << spec.name;
        ASSERT_LT(recipe.scale_byte, 192) << spec.name;
      }
      if (spec.type == StoredType::kF8E4m3) {
        ASSERT_LT(recipe.deviation, 448 / 3.7) << spec.name;
      }
    }
  }
}

TEST(Assets, CarryTheWholeTokenizer) {
  const auto text = released_tokenizer();
  ASSERT_OK(text);
  const auto tokenizer = nlohmann::json::parse(*text);

  EXPECT_EQ(tokenizer["model"]["vocab"].size(), 128000U);
  EXPECT_EQ(tokenizer["added_tokens"].size(), 1283U);
}

TEST(Presets, RefuseAnUnknownNameAndSayWhatThereIs) {
  const auto text = preset_config("huge");

  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(text.error().message, HasSubstr("tiny, mid, s8, r4, r8, full"));
}

Status no_data(std::size_t /*index*/, std::int64_t /*offset*/, std::span<std::uint8_t> /*out*/) {
  return Done{};
}

TEST(FolderWriter, LeavesNothingWhenItIsNotCommitted) {
  const TempFolder folder;
  {
    const auto writer = FolderWriter::create(folder.path() / "model", {});
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->add_text("config.json", "{}"));
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "model.partial"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FolderWriter, StopsWhenProgressSaysSo) {
  const TempFolder folder;
  FolderWriter::Options options;
  options.progress = [](std::int64_t) { return false; };
  const auto writer = FolderWriter::create(folder.path() / "model", options);
  ASSERT_OK(writer);

  EXPECT_FAILS((*writer)->add_shard("model.safetensors", {{"a", StoredType::kI8, {4}, 4}}, no_data),
               ErrorCode::kCancelled);
}

TEST(FolderWriter, RefusesAFolderInUseAndTakesAnEmptyOne) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "empty");
  test::write_file(folder.path() / "file", "text");
  std::filesystem::create_directory(folder.path() / "again.partial");

  EXPECT_FAILS(FolderWriter::create(folder.path(), {}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(FolderWriter::create(folder.path() / "file", {}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(FolderWriter::create(folder.path() / "again", {}), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(FolderWriter::create(folder.path() / "no" / "parent", {}),
               ErrorCode::kInvalidArgument);
  const auto writer = FolderWriter::create(folder.path() / "empty/", {});
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit());
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "empty" / "SHA256SUMS"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "again.partial"));
}

}  // namespace
}  // namespace deepinfer::engine
