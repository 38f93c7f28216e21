// The n-gram hash: where its constants come from, and the rows that a token names.
//
// The released tables were filled with multipliers drawn by NumPy's default generator, so its three
// parts are needed here, in the few lines that one draw takes: the seed sequence (a hash that spreads
// one integer over the state), PCG64 (a 128-bit linear congruence with a permuted output) and the
// bounded draw of Lemire.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/engram/engram.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kSeedPerLayer = 10007;

// 128-bit unsigned arithmetic, modulo 2^128.
struct Wide {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

Wide multiply(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t mask = 0xffffffffU;
  const std::uint64_t a0 = a & mask;
  const std::uint64_t a1 = a >> 32U;
  const std::uint64_t b0 = b & mask;
  const std::uint64_t b1 = b >> 32U;
  const std::uint64_t low = a0 * b0;
  const std::uint64_t middle = a1 * b0 + (low >> 32U);  // cannot overflow
  const std::uint64_t cross = a0 * b1 + (middle & mask);
  return Wide{.high = a1 * b1 + (middle >> 32U) + (cross >> 32U),
              .low = (cross << 32U) | (low & mask)};
}

Wide multiply(Wide a, Wide b) {
  Wide product = multiply(a.low, b.low);
  product.high += a.high * b.low + a.low * b.high;
  return product;
}

Wide add(Wide a, Wide b) {
  Wide sum{.high = a.high + b.high, .low = a.low + b.low};
  if (sum.low < a.low) ++sum.high;
  return sum;
}

// The four 64-bit words that the seed sequence makes of one integer below 2^32.
std::array<std::uint64_t, 4> spread_seed(std::uint32_t seed) {
  std::uint32_t key = 0x43b0d7e5U;
  const auto hash = [&key](std::uint32_t value) {
    value ^= key;
    key *= 0x931e8875U;
    value *= key;
    return value ^ (value >> 16U);
  };
  std::array<std::uint32_t, 4> pool = {seed, 0, 0, 0};
  for (std::uint32_t& word : pool) word = hash(word);
  for (std::size_t from = 0; from < pool.size(); ++from) {
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (from == to) continue;
      const std::uint32_t mixed = 0xca01f9ddU * pool[to] - 0x4973f715U * hash(pool[from]);
      pool[to] = mixed ^ (mixed >> 16U);
    }
  }

  std::uint32_t out_key = 0x8b51f9ddU;
  std::array<std::uint64_t, 4> words = {};
  for (std::size_t i = 0; i < 2 * words.size(); ++i) {
    std::uint32_t value = pool[i % pool.size()] ^ out_key;
    out_key *= 0x58f38dedU;
    value *= out_key;
    value ^= value >> 16U;
    words[i / 2] |= std::uint64_t{value} << (i % 2 == 0 ? 0U : 32U);
  }
  return words;
}

class Pcg64 {
 public:
  explicit Pcg64(std::uint32_t seed) {
    const std::array<std::uint64_t, 4> words = spread_seed(seed);
    increment_ = Wide{.high = (words[2] << 1U) | (words[3] >> 63U), .low = (words[3] << 1U) | 1U};
    step();
    state_ = add(state_, Wide{.high = words[0], .low = words[1]});
    step();
  }

  // Uniform below `bound`, which is above 2^32 (smaller bounds take another path in NumPy).
  std::uint64_t below(std::uint64_t bound) {
    Wide scaled = multiply(next(), bound);
    if (scaled.low < bound) {
      const std::uint64_t threshold =
          (std::numeric_limits<std::uint64_t>::max() - bound + 1) % bound;
      while (scaled.low < threshold) scaled = multiply(next(), bound);
    }
    return scaled.high;
  }

 private:
  void step() {
    constexpr Wide kMultiplier{.high = 0x2360ed051fc65da4U, .low = 0x4385df649fccf645U};
    state_ = add(multiply(state_, kMultiplier), increment_);
  }

  std::uint64_t next() {
    step();
    return std::rotr(state_.high ^ state_.low, static_cast<int>(state_.high >> 58U));
  }

  Wide state_;
  Wide increment_;
};

bool is_prime(std::int64_t value) {
  if (value < 4) return value > 1;
  if (value % 2 == 0) return false;
  for (std::int64_t divisor = 3; divisor * divisor <= value; divisor += 2) {
    if (value % divisor == 0) return false;
  }
  return true;
}

std::vector<std::int64_t> draw_multipliers(std::int64_t layer, const EngramHashSpec& spec) {
  const std::int64_t bound =
      std::numeric_limits<std::int64_t>::max() / spec.compressed_vocabulary / 2;
  Pcg64 generator(static_cast<std::uint32_t>(kSeedPerLayer * layer));
  std::vector<std::int64_t> multipliers;
  for (std::int64_t back = 0; back < spec.orders; ++back) {
    const std::uint64_t drawn = generator.below(static_cast<std::uint64_t>(bound));
    multipliers.push_back(static_cast<std::int64_t>(drawn * 2 + 1));  // odd
  }
  return multipliers;
}

Status hash_limits(const EngramHashArgs& args) {
  if (args.hash == nullptr || args.hash->orders < 2 || args.hash->heads < 1) {
    return fail(ErrorCode::kInvalidArgument, "engram_hash: no constants");
  }
  const EngramHash& hash = *args.hash;
  const auto columns = static_cast<std::size_t>(hash.columns());
  if (hash.multipliers.size() != static_cast<std::size_t>(hash.orders) ||
      hash.primes.size() != columns || hash.offsets.size() != columns) {
    return fail(ErrorCode::kInvalidArgument, "engram_hash: constants are incomplete");
  }
  if (args.history.extent(1) != hash.orders || args.table_rows.extent(1) != hash.columns() ||
      args.history.extent(0) != args.table_rows.extent(0)) {
    return fail(ErrorCode::kInvalidArgument, "engram_hash: shapes of history and rows disagree");
  }
  return Done{};
}

}  // namespace

std::vector<EngramHash> engram_hashes(const EngramHashSpec& spec) {
  std::vector<EngramHash> hashes;
  std::int64_t candidate = spec.first_prime_after;
  for (const std::int64_t layer : spec.layer_ids) {
    EngramHash hash;
    hash.orders = spec.orders;
    hash.heads = spec.heads;
    hash.multipliers = draw_multipliers(layer, spec);
    std::int64_t offset = 0;
    for (std::int64_t column = 0; column < hash.columns(); ++column) {
      while (!is_prime(candidate)) ++candidate;
      hash.primes.push_back(candidate);
      hash.offsets.push_back(offset);
      offset += candidate++;
    }
    hashes.push_back(std::move(hash));
  }
  return hashes;
}

Status engram_hash(const EngramHashArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, hash_limits(args));

  const EngramHash& hash = *args.hash;
  for (std::int64_t row = 0; row < args.history.extent(0); ++row) {
    std::uint64_t mixed = 0;
    for (std::int64_t back = 0; back < hash.orders; ++back) {
      const auto id = static_cast<std::uint64_t>(args.history(row, back));
      mixed ^= id * static_cast<std::uint64_t>(hash.multipliers[static_cast<std::size_t>(back)]);
      if (back == 0) continue;  // an n-gram has two tokens or more
      for (std::int64_t head = 0; head < hash.heads; ++head) {
        const auto column = static_cast<std::size_t>((back - 1) * hash.heads + head);
        const auto prime = static_cast<std::uint64_t>(hash.primes[column]);
        args.table_rows(row, static_cast<std::int64_t>(column)) =
            static_cast<std::int64_t>(mixed % prime) + hash.offsets[column];
      }
    }
  }
  return Done{};
}

}  // namespace deepinfer::kernels
