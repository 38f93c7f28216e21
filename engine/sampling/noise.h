// The random numbers of sampling: a pure function of (seed, position, token), so that a result
// depends on its request alone.
//
// Philox4x32-10; key = the 64-bit seed, counter = (position, token / 4, stream, 0), word token % 4.
// gumbel() = -log(-log(u)) with u = (word + 0.5) / 2^32: the token of the greatest
// logit / temperature + gumbel is a draw from the softmax.
//
// Threads:  pure functions
// Source:   Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3"; Maddison et al. 2014,
//           arXiv:1411.0030 (Gumbel-max)
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace deepinfer::engine {

enum class NoiseStream : std::uint32_t { kSample = 0 };

using PhiloxBlock = std::array<std::uint32_t, 4>;
[[nodiscard]] PhiloxBlock philox(std::uint64_t key, const PhiloxBlock& counter);

// The words of tokens 4 * quad .. 4 * quad + 3 at an output position.
[[nodiscard]] PhiloxBlock sample_words(std::uint64_t seed, std::int64_t position,
                                       std::uint32_t quad);
[[nodiscard]] double gumbel(std::uint32_t word);
// Never below gumbel(word), and cheap: most tokens cannot win and need no logarithm.
[[nodiscard]] double gumbel_bound(std::uint32_t word);

// The seed of a choice without one: H(job seed, custom_id, choice). FNV-1a over the little-endian
// job seed, the bytes of custom_id, 0xFF and the little-endian choice, then the finaliser of
// SplitMix64. Documented in docs/reference/sampling.md, since users recompute it.
[[nodiscard]] std::uint64_t derive_seed(std::uint64_t job_seed, std::string_view custom_id,
                                        std::int64_t choice);

}  // namespace deepinfer::engine
