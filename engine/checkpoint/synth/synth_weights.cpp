#include "engine/checkpoint/synth/synth_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "engine/checkpoint/synth/recipe.h"
#include "kernels/float_types.h"

namespace deepinfer::engine {
namespace {

constexpr std::size_t kEntries = 4096;
constexpr std::size_t kPairSide = 64;  // an FP4 byte draws its two codes from 64 quantiles each
constexpr std::size_t kDrawsPerWord = 4;
constexpr unsigned kDrawBits = 16;

// The finaliser of the SplitMix64 generator: a bijection whose outputs pass as random.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// FNV-1a, spread by the seed.
std::uint64_t stream_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : name) {
    hash = (hash ^ static_cast<std::uint8_t>(letter)) * 0x100000001b3U;
  }
  return mix(mix(seed + 0x9e3779b97f4a7c15U) ^ hash);
}

std::uint64_t word_at(std::uint64_t stream, std::uint64_t index) {
  return mix(stream + index * 0x9e3779b97f4a7c15U);
}

// The value below which a standard normal draw falls with probability (i + 1/2) / count.
double normal_quantile(std::size_t i, std::size_t count) {
  const double wanted = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
  double low = -8;
  double high = 8;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    const double below = std::erfc(-middle / std::sqrt(2.0)) / 2;
    (below < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

const std::array<double, kEntries>& quantiles() {
  static const std::array<double, kEntries> values = [] {
    std::array<double, kEntries> table = {};
    for (std::size_t i = 0; i < kEntries; ++i) table[i] = normal_quantile(i, kEntries);
    return table;
  }();
  return values;
}

std::uint8_t pair_of_codes(std::size_t entry, double mean, double deviation) {
  constexpr std::size_t kStride = kEntries / kPairSide;
  const auto code = [&](std::size_t place) {
    const double z = quantiles()[place * kStride + kStride / 2];
    return kernels::to_e2m1(static_cast<float>(mean + deviation * z));
  };
  const unsigned low = code(entry % kPairSide);
  const unsigned high = code(entry / kPairSide);
  return static_cast<std::uint8_t>(low | (high << 4U));
}

// The stored bytes of entry i of a table.
void put_entry(StoredType type, std::size_t i, const Recipe& recipe, std::uint8_t* out) {
  const auto value = static_cast<float>(recipe.mean + recipe.deviation * quantiles()[i]);
  switch (type) {
    case StoredType::kF32:
      std::memcpy(out, &value, sizeof(value));
      return;
    case StoredType::kBf16: {
      const kernels::Bf16 rounded = kernels::to_bf16(value);
      std::memcpy(out, &rounded.bits, sizeof(rounded.bits));
      return;
    }
    case StoredType::kF8E4m3:
      *out = kernels::to_e4m3(value);
      return;
    case StoredType::kI8:
      *out = pair_of_codes(i, recipe.mean, recipe.deviation);
      return;
    case StoredType::kF8E8m0: {
      constexpr std::array kSteps = {-1, 0, 0, 1};
      *out = static_cast<std::uint8_t>(recipe.scale_byte + kSteps[i % kSteps.size()]);
      return;
    }
  }
}

// Copies one entry of `Bytes` bytes per draw.
template <std::size_t Bytes>
void draw(std::uint64_t stream, const std::uint8_t* table, std::size_t first,
          std::span<std::uint8_t> out) {
  const std::size_t last = first + out.size() / Bytes;
  std::uint8_t* place = out.data();
  for (std::size_t i = first; i < last;) {
    const std::uint64_t word = word_at(stream, i / kDrawsPerWord);
    const std::size_t end = std::min(last, (i / kDrawsPerWord + 1) * kDrawsPerWord);
    for (; i < end; ++i, place += Bytes) {
      const std::uint64_t bits = word >> (kDrawBits * (i % kDrawsPerWord));
      std::memcpy(place, table + (bits % kEntries) * Bytes, Bytes);
    }
  }
}

}  // namespace

SynthWeights::SynthWeights(const ModelShape& shape, std::uint64_t seed)
    : shape_(shape), seed_(seed) {}

const SynthWeights::Table& SynthWeights::table(const TableKey& key) {
  const auto [place, is_new] = tables_.try_emplace(key);
  Table& table = place->second;
  if (!is_new) return table;
  const auto& [type, mean, deviation, scale_byte] = key;
  const auto stride = static_cast<std::size_t>(element_bytes(type));
  const Recipe recipe{.mean = mean, .deviation = deviation, .scale_byte = scale_byte};
  table.resize(kEntries * stride);
  for (std::size_t i = 0; i < kEntries; ++i) put_entry(type, i, recipe, table.data() + i * stride);
  return table;
}

void SynthWeights::fill(const TensorSpec& spec, std::int64_t offset, std::span<std::uint8_t> out) {
  const Recipe recipe = recipe_for(spec);
  const std::uint8_t* entries =
      table({spec.type, recipe.mean, recipe.deviation, recipe.scale_byte}).data();
  const std::uint64_t stream = stream_of(seed_, spec.name);
  const std::int64_t first = offset / element_bytes(spec.type);
  switch (element_bytes(spec.type)) {
    case 4:
      draw<4>(stream, entries, static_cast<std::size_t>(first), out);
      break;
    case 2:
      draw<2>(stream, entries, static_cast<std::size_t>(first), out);
      break;
    default:
      draw<1>(stream, entries, static_cast<std::size_t>(first), out);
      break;
  }
  if (!recipe.is_mix_base) return;
  for (std::size_t i = 0; i < out.size() / sizeof(float); ++i) {
    float value = 0;
    std::memcpy(&value, out.data() + i * sizeof(value), sizeof(value));
    value += static_cast<float>(mix_base_mean(first + static_cast<std::int64_t>(i), shape_.copies));
    std::memcpy(out.data() + i * sizeof(value), &value, sizeof(value));
  }
}

}  // namespace deepinfer::engine
