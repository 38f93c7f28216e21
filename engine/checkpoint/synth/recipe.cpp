#include "engine/checkpoint/synth/recipe.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace deepinfer::engine {
namespace {

constexpr std::int64_t kGroup = 32;  // elements under one scale, along a row
// Scale bytes are one below, at and one above the middle with weights 1, 2, 1: the root mean square
// of the factor is sqrt(1/4 * 1/4 + 1/2 + 1/4 * 4).
constexpr double kScaleSpread = 1.25;
// The smallest deviation of codes; the largest is twice that. The outermost of the 4096 quantiles is
// 3.67 deviations out: inside +-448 for E4M3; E2M1 clips a little at +-6.
constexpr double kE4m3Deviation = 40;
constexpr double kE2m1Deviation = 1.4;
constexpr int kE8m0Bias = 127;

// Tensors whose spread follows from no row length, by the end of their names.
struct Named {
  std::string_view ending;
  double mean;
  double deviation;
};
constexpr std::array kNamed = {
    Named{"norm.weight", 1, 0.1},   Named{"norm1.weight", 1, 0.1},  Named{"norm2.weight", 1, 0.1},
    Named{".q_weight", 1, 0.1},     Named{".k_weight", 1, 0.1},     Named{"attn_sink", 0, 0.2},
    Named{"gate.bias", 0, 0.02},    Named{"gate.bias_vl", 0, 0.02}, Named{".bias", 0, 0.02},
    Named{"hc_attn_scale", 0.3, 0}, Named{"hc_ffn_scale", 0.3, 0},  Named{"hc_attn_base", 0, 0.1},
    Named{"hc_ffn_base", 0, 0.1},   Named{"embed.weight", 0, 1},    Named{"image_start", 0, 1},
    Named{"image_end", 0, 1},       Named{"image_newline", 0, 1},
};

// Linear maps: their outputs have `gain` times the root mean square of their inputs.
struct Gain {
  std::string_view ending;
  double gain;
};
constexpr std::array kGains = {
    Gain{".w2.weight", 0.5},               // experts add a third of a unit to the stream
    Gain{"engram.wkv.weight", 0.5},        //
    Gain{"markov_head.head.weight", 0.3},  // a correction of the logits
    Gain{"confidence_head.proj.weight", 0.5},
    Gain{"head.weight", 2.0},  // the spread of the logits
};

bool is_fp4(std::string_view name) { return name.find(".ffn.experts.") != std::string_view::npos; }

// The deviation of the numbers that a weight stands for.
Recipe logical(std::string_view weight, std::int64_t cols) {
  Recipe recipe;
  for (const Named& named : kNamed) {
    if (!weight.ends_with(named.ending)) continue;
    recipe.mean = named.mean;
    recipe.deviation = named.deviation;
    recipe.is_mix_base = weight.ends_with("_base");
    return recipe;
  }
  double gain = 1;
  for (const Gain& entry : kGains) {
    if (!weight.ends_with(entry.ending)) continue;
    gain = entry.gain;
    break;
  }
  recipe.deviation = gain / std::sqrt(static_cast<double>(cols));
  return recipe;
}

std::int64_t logical_cols(const TensorSpec& spec) {
  const std::int64_t stored = spec.shape.back();
  if (spec.type == StoredType::kI8) return 2 * stored;
  return spec.type == StoredType::kF8E8m0 ? kGroup * stored : stored;
}

}  // namespace

Recipe recipe_for(const TensorSpec& spec) {
  const bool is_scale = spec.type == StoredType::kF8E8m0;
  std::string weight = spec.name;
  if (is_scale) weight.replace(weight.size() - std::string_view("scale").size(), 5, "weight");
  Recipe recipe = logical(weight, logical_cols(spec));
  const bool quantised =
      is_scale || spec.type == StoredType::kF8E4m3 || spec.type == StoredType::kI8;
  if (!quantised) return recipe;

  // deviation = codes * 2^power * spread, with the codes' deviation between `least` and twice that.
  const double least = is_fp4(weight) ? kE2m1Deviation : kE4m3Deviation;
  const double wanted = recipe.deviation / kScaleSpread;
  const int power = static_cast<int>(std::floor(std::log2(wanted / least)));
  recipe.scale_byte = kE8m0Bias + power;
  recipe.deviation = std::ldexp(wanted, -power);
  return recipe;
}

double mix_base_mean(std::int64_t i, std::int64_t copies) {
  if (i < copies) return -std::log(static_cast<double>(copies) - 1);  // sigmoid: 1 / copies
  if (i < 2 * copies) return 0;                                       // 2 * sigmoid: 1
  const std::int64_t entry = i - 2 * copies;
  return entry / copies == entry % copies ? 2.0 : 0.0;
}

}  // namespace deepinfer::engine
