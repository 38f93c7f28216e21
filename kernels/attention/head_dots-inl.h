// Dot products of the heads of one query with a list of keys, heads across the lanes.
//
//   out[i][h] = q[h] . key_i
//
// A key is shared by all heads, so each of its elements is loaded once for a whole vector of heads,
// and what follows (softmax, head weights) needs no sum across lanes.
//
// Shapes:   keys: `count` pointers to [n] f32; turned: q as turn_heads leaves it; out [count, padded]
// Limits:   n % 16 == 0; padded is the number of heads rounded up to 16
// Numerics: the 16-partial-sum order of gemm/linear.h for every product, so tiles do not matter
// Batch:    row-pure
// Include it after hwy/foreach_target.h, as kernels/simd-inl.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/simd-inl.h"

// Highway's guard: once for each instruction set.
#if defined(DEEPINFER_KERNELS_HEAD_DOTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DEEPINFER_KERNELS_HEAD_DOTS_INL_H
#undef DEEPINFER_KERNELS_HEAD_DOTS_INL_H
#else
#define DEEPINFER_KERNELS_HEAD_DOTS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

constexpr std::int64_t kHeadPadding = 16;

// Where element k of every head lies in a turned query: the elements of one partial sum together.
HWY_INLINE std::int64_t turned_row(std::int64_t k, std::int64_t n) {
  return k % 16 * (n / 16) + k / 16;
}

struct HeadDots {
  const float* turned;  // [n, padded], row turned_row(k, n) holds element k
  std::int64_t padded;
  std::int64_t n;
  const float* const* keys;
  std::int64_t count;
  float* out;
};

// Partial sum `first` of every product of a tile.
template <std::size_t Keys, std::size_t Vectors>
HWY_INLINE void head_partial_sums(const HeadDots& args, const float* const* keys,
                                  std::int64_t first, std::int64_t head, F32* sum) {
  const F32Tag d;
  const float* q = args.turned + first * (args.n / 16) * args.padded + head;
  for (std::size_t i = 0; i < Keys * Vectors; ++i) sum[i] = hn::Zero(d);
  for (std::int64_t k = first; k < args.n; k += 16, q += args.padded) {
    F32 lanes[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) lanes[v] = hn::LoadU(d, q + v * kLanes);
    for (std::size_t i = 0; i < Keys; ++i) {
      const F32 element = hn::Set(d, keys[i][k]);
      for (std::size_t v = 0; v < Vectors; ++v) {
        sum[i * Vectors + v] = hn::MulAdd(lanes[v], element, sum[i * Vectors + v]);
      }
    }
  }
}

// The tile of some keys and some vectors of heads whose first lane is head `head`. The partial sums
// are made in the order 0, 8, 4, 12, 2, ...: then sums that are added first come out first, and at
// most one of each size waits for its partner.
template <std::size_t Keys, std::size_t Vectors>
HWY_INLINE void head_dots_tile(const HeadDots& args, std::int64_t key, std::int64_t head) {
  constexpr std::size_t kTile = Keys * Vectors;
  constexpr std::int64_t kReversed[] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
  F32 waiting[5][kTile];
  F32 sum[kTile];
  for (std::size_t turn = 0; turn < 16; ++turn) {
    head_partial_sums<Keys, Vectors>(args, args.keys + key, kReversed[turn], head, sum);
    std::size_t size = 0;
    for (; (turn >> size) % 2 == 1; ++size) {
      for (std::size_t i = 0; i < kTile; ++i) sum[i] = hn::Add(waiting[size][i], sum[i]);
    }
    for (std::size_t i = 0; i < kTile; ++i) waiting[size][i] = sum[i];
  }
  for (std::size_t i = 0; i < kTile; ++i) {
    float* out = args.out + (key + static_cast<std::int64_t>(i / Vectors)) * args.padded + head;
    hn::StoreU(sum[i], F32Tag(), out + i % Vectors * kLanes);
  }
}

template <std::size_t Vectors>
HWY_INLINE void head_dots_column(const HeadDots& args, std::int64_t head) {
  // 16 sums fill half of AVX-512's registers; AVX2 has 16 registers in all.
  constexpr std::size_t kKeys = kParts == 1 ? 8 : 4;
  std::int64_t key = 0;
  for (; key + static_cast<std::int64_t>(kKeys) <= args.count;
       key += static_cast<std::int64_t>(kKeys)) {
    head_dots_tile<kKeys, Vectors>(args, key, head);
  }
  for (; key < args.count; ++key) head_dots_tile<1, Vectors>(args, key, head);
}

HWY_INLINE void head_dots(const HeadDots& args) {
  constexpr auto kVector = static_cast<std::int64_t>(kLanes);
  std::int64_t head = 0;
  for (; head + 2 * kVector <= args.padded; head += 2 * kVector) head_dots_column<2>(args, head);
  for (; head < args.padded; head += kVector) head_dots_column<1>(args, head);
}

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DEEPINFER_KERNELS_HEAD_DOTS_INL_H
