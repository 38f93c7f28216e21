#include "engine/sampling/noise.h"

#include <bit>

#include "engine/sampling/exact_math.h"

namespace deepinfer::engine {
namespace {

// Multipliers and key increments of Philox4x32 (Salmon et al., table 2 and section 4).
constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325;
constexpr std::uint64_t kFnvPrime = 0x100000001b3;

std::uint64_t fnv_byte(std::uint64_t hash, std::uint8_t byte) { return (hash ^ byte) * kFnvPrime; }

std::uint64_t fnv_word(std::uint64_t hash, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) hash = fnv_byte(hash, static_cast<std::uint8_t>(word >> (8 * i)));
  return hash;
}

std::uint64_t finalise(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

}  // namespace

PhiloxBlock philox(std::uint64_t key, const PhiloxBlock& counter) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32U);
  PhiloxBlock block = counter;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * block[0];
    const std::uint64_t product1 = kMultiplier1 * block[2];
    block = {static_cast<std::uint32_t>(product1 >> 32U) ^ block[1] ^ key0,
             static_cast<std::uint32_t>(product1),
             static_cast<std::uint32_t>(product0 >> 32U) ^ block[3] ^ key1,
             static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return block;
}

PhiloxBlock sample_words(std::uint64_t seed, std::int64_t position, std::uint32_t quad) {
  return philox(seed, {static_cast<std::uint32_t>(position), quad,
                       static_cast<std::uint32_t>(NoiseStream::kSample), 0});
}

double gumbel(std::uint32_t word) {
  const double u = (static_cast<double>(word) + 0.5) * 0x1p-32;
  return -exact_log(-exact_log(u));
}

double gumbel_bound(std::uint32_t word) {
  // -log u >= 1 - u, so gumbel <= -log(1 - u); and 1 - u > 2^-(zeros + 1) by its leading zeros.
  constexpr double kLn2 = 0.693147180559945310;
  return static_cast<double>(std::countl_zero(~word) + 1) * kLn2 + 1e-9;
}

std::uint64_t derive_seed(std::uint64_t job_seed, std::string_view custom_id, std::int64_t choice) {
  std::uint64_t hash = fnv_word(kFnvOffset, job_seed);
  for (const char c : custom_id) hash = fnv_byte(hash, static_cast<std::uint8_t>(c));
  hash = fnv_byte(hash, 0xFF);
  return finalise(fnv_word(hash, static_cast<std::uint64_t>(choice)));
}

}  // namespace deepinfer::engine
