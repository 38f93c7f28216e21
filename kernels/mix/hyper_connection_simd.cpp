// The fast CPU path of the hyper-connections.
//
// fn is two megabytes at the released size, so what counts is how often it is read: a tile keeps
// several of its rows against several tokens in registers. Collapse and update are one pass over the
// stream each.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/mix/hyper_connection.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mix/hyper_connection_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t kStreamCopies = 4;
constexpr std::int64_t kMixRows = 24;
// 24 sums in AVX-512's 32 registers, 12 in AVX2's 16.
constexpr std::size_t kTileMixes = kParts == 1 ? 6 : 3;
constexpr std::size_t kTileTokens = kParts == 1 ? 4 : 2;

// The next 16 elements of Tokens rows of u against those of kTileMixes rows of fn.
template <std::size_t Tokens>
HWY_INLINE void mix_step(const float* fn, const Bf16* u, std::int64_t count,
                         Sums16 (&sums)[Tokens][kTileMixes]) {
  const F32Tag d;
  for (std::size_t p = 0; p < kParts; ++p) {
    F32 x[Tokens];
    for (std::size_t t = 0; t < Tokens; ++t) {
      x[t] = load_bf16(d, u + static_cast<std::int64_t>(t) * count + p * kLanes);
    }
    for (std::size_t m = 0; m < kTileMixes; ++m) {
      const F32 weight = hn::LoadU(d, fn + static_cast<std::int64_t>(m) * count + p * kLanes);
      for (std::size_t t = 0; t < Tokens; ++t) {
        sums[t][m].part[p] = hn::MulAdd(weight, x[t], sums[t][m].part[p]);
      }
    }
  }
}

// Dot products of Tokens rows of u, `count` elements each, with kTileMixes rows of fn.
template <std::size_t Tokens>
HWY_INLINE void mix_tile(const float* fn, const Bf16* u, std::int64_t count, float* out) {
  Sums16 sums[Tokens][kTileMixes];
  for (auto& token : sums) {
    for (Sums16& s : token) s = zero16();
  }
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(kPartialSums)) {
    mix_step<Tokens>(fn + i, u + i, count, sums);
  }
  for (std::size_t t = 0; t < Tokens; ++t) {
    for (std::size_t m = 0; m < kTileMixes; ++m) {
      out[static_cast<std::int64_t>(t) * kMixRows + static_cast<std::int64_t>(m)] =
          fold16(sums[t][m]);
    }
  }
}

template <std::size_t Tokens>
HWY_INLINE void mix_tokens(const float* fn, const Bf16* u, std::int64_t count, float* mixes) {
  for (std::int64_t m = 0; m < kMixRows; m += static_cast<std::int64_t>(kTileMixes)) {
    mix_tile<Tokens>(fn + m * count, u, count, mixes + m);
  }
}

HWY_INLINE float sum_of_squares(const Bf16* u, std::int64_t count) {
  const F32Tag d;
  Sums16 sums = zero16();
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(kPartialSums)) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const F32 x = load_bf16(d, u + i + static_cast<std::int64_t>(p * kLanes));
      sums.part[p] = hn::MulAdd(x, x, sums.part[p]);
    }
  }
  return fold16(sums);
}

// mixes [rows of the range, 24] of rows [begin, end).
void mixes_of(const MixArgs& args, std::int64_t begin, std::int64_t end, float* mixes) {
  constexpr auto kTokens = static_cast<std::int64_t>(kTileTokens);
  const std::int64_t count = args.h.extent(1) * args.h.extent(2);
  const Bf16* u = args.h.data();
  std::int64_t row = begin;
  for (; row + kTokens <= end; row += kTokens) {
    mix_tokens<kTileTokens>(args.fn.data(), u + row * count, count,
                            mixes + (row - begin) * kMixRows);
  }
  for (; row < end; ++row) {
    mix_tokens<1>(args.fn.data(), u + row * count, count, mixes + (row - begin) * kMixRows);
  }
  for (row = begin; row < end; ++row) {
    const float mean = sum_of_squares(u + row * count, count) / static_cast<float>(count);
    const float scale = 1.0F / std::sqrt(mean + args.norm_epsilon);
    for (std::int64_t m = 0; m < kMixRows; ++m) mixes[(row - begin) * kMixRows + m] *= scale;
  }
}

void collapse_row(const CollapseArgs& args, std::int64_t row) {
  const F32Tag d;
  const std::int64_t hidden = args.h.extent(2);
  const Bf16* h = &args.h(row, 0, 0);
  Bf16* x = &args.x(row, 0);
  F32 pre[kStreamCopies];
  for (std::size_t c = 0; c < kStreamCopies; ++c) pre[c] = hn::Set(d, (&args.pre(row, 0))[c]);
  for (std::int64_t i = 0; i < hidden; i += static_cast<std::int64_t>(kLanes)) {
    F32 sum = hn::Mul(pre[0], load_bf16(d, h + i));
    for (std::size_t c = 1; c < kStreamCopies; ++c) {
      const F32 copy = load_bf16(d, h + static_cast<std::int64_t>(c) * hidden + i);
      sum = hn::Add(sum, hn::Mul(pre[c], copy));
    }
    store_bf16(d, sum, x + i);
  }
}

void update_row(const StreamUpdateArgs& args, std::int64_t row) {
  const F32Tag d;
  const std::int64_t hidden = args.h.extent(2);
  Bf16* h = &args.h(row, 0, 0);
  const Bf16* y = &args.y(row, 0);
  const float* comb = &args.comb(row, 0, 0);
  const float* post = &args.post(row, 0);
  for (std::int64_t i = 0; i < hidden; i += static_cast<std::int64_t>(kLanes)) {
    F32 copy[kStreamCopies];
    for (std::size_t j = 0; j < kStreamCopies; ++j) {
      copy[j] = load_bf16(d, h + static_cast<std::int64_t>(j) * hidden + i);
    }
    const F32 added = load_bf16(d, y + i);
    for (std::size_t k = 0; k < kStreamCopies; ++k) {
      F32 sum = hn::Mul(hn::Set(d, comb[k]), copy[0]);
      for (std::size_t j = 1; j < kStreamCopies; ++j) {
        sum = hn::Add(sum, hn::Mul(hn::Set(d, comb[j * kStreamCopies + k]), copy[j]));
      }
      sum = hn::Add(hn::Mul(hn::Set(d, post[k]), added), sum);
      store_bf16(d, sum, h + static_cast<std::int64_t>(k) * hidden + i);
    }
  }
}

}  // namespace
}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(mixes_of);
HWY_EXPORT(collapse_row);
HWY_EXPORT(update_row);

constexpr std::int64_t kMixes = 24;

}  // namespace

Status mix_cpu(const MixArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, mix_limits(args));

  const std::int64_t rows = args.h.extent(0);
  std::vector<float> mixes(static_cast<std::size_t>(rows * kMixes));
  workers.for_ranges(rows, [&](std::int64_t begin, std::int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(mixes_of)(args, begin, end, mixes.data() + begin * kMixes);
  });
  return mix_split_cpu({.mixes = View<const float, 2>(mixes.data(), rows, kMixes),
                        .scale = args.scale,
                        .base = args.base,
                        .pre = args.pre,
                        .post = args.post,
                        .comb = args.comb,
                        .iterations = args.iterations,
                        .epsilon = args.epsilon},
                       workers);
}

Status collapse_cpu(const CollapseArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, collapse_limits(args));

  workers.for_ranges(args.h.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(collapse_row)(args, row);
  });
  return Done{};
}

Status stream_update_cpu(const StreamUpdateArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, stream_update_limits(args));

  workers.for_ranges(args.h.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(update_row)(args, row);
  });
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
