// The fast CPU path of sparse attention.
//
// A worker takes a row at a time: it unpacks the row's keys once (640 x 512 floats at the released
// size, which a second-level cache holds), then walks them in blocks of 64. Scores and softmax have
// heads across the lanes, so nothing is summed across lanes; values have columns across the lanes
// and keep a tile of heads x columns in registers over the whole block.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/attention/attend.h"
#include "kernels/attention/sparse_attention.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/sparse_attention_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/attention/head_dots-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kBlock = 64;  // slots
constexpr float kFirstMaximum = -1e30F;
constexpr std::size_t kTileColumns = 32;  // n is a multiple of it
constexpr std::size_t kTileVectors = kTileColumns / kLanes;
constexpr std::size_t kTileHeads = kParts == 1 ? 8 : 2;  // 16 sums on AVX-512, 8 on AVX2

// The keys of a block that are there.
struct Block {
  const float* keys[kBlock] = {};
  std::int64_t count = 0;
};

// To the nearest bf16, ties to even, kept as fp32.
HWY_INLINE F32 round_to_bf16(F32 v) {
  const hn::RebindToUnsigned<F32Tag> u32;
  const auto bits = hn::BitCast(u32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(u32, 0x7fffU)));
  return hn::BitCast(F32Tag(), hn::And(rounded, hn::Set(u32, 0xffff0000U)));
}

void turn_query(const AttendArgs& args, std::int64_t padded, float* turned) {
  const std::int64_t n = args.q.extent(1);
  std::fill(turned, turned + n * padded, 0.0F);
  for (std::int64_t head = 0; head < args.q.extent(0); ++head) {
    const Bf16* q = &args.q(head, 0);
    for (std::int64_t k = 0; k < n; ++k) turned[turned_row(k, n) * padded + head] = to_float(q[k]);
  }
}

// Scores to probabilities, in place; raises the maxima and the denominators of all heads.
void block_softmax(const AttendArgs& args, std::int64_t count, AttendWorkspace& workspace) {
  const F32Tag d;
  const auto padded = static_cast<std::int64_t>(workspace.maximum.size());
  const F32 scale = hn::Set(d, args.scale);
  for (std::int64_t head = 0; head < padded; head += static_cast<std::int64_t>(kLanes)) {
    float* maximum = workspace.maximum.data() + head;
    float* denominator = workspace.denominator.data() + head;
    float* scores = workspace.scores.data() + head;
    const F32 before = hn::LoadU(d, maximum);
    F32 raised = before;
    for (std::int64_t i = 0; i < count; ++i) {
      const F32 score = hn::Mul(hn::LoadU(d, scores + i * padded), scale);
      hn::StoreU(score, d, scores + i * padded);
      raised = hn::Max(raised, score);
    }
    const F32 rescale = vector_exp(d, hn::Sub(before, raised));
    F32 sum = hn::Zero(d);
    for (std::int64_t i = 0; i < count; ++i) {
      const F32 p = vector_exp(d, hn::Sub(hn::LoadU(d, scores + i * padded), raised));
      sum = hn::Add(sum, p);
      hn::StoreU(round_to_bf16(p), d, scores + i * padded);
    }
    hn::StoreU(raised, d, maximum);
    hn::StoreU(rescale, d, workspace.rescale.data() + head);
    hn::StoreU(hn::Add(hn::Mul(hn::LoadU(d, denominator), rescale), sum), d, denominator);
  }
}

// sums[head ..][column ..] <- their rescaled selves + the block's probabilities times its keys.
template <std::size_t Heads>
HWY_INLINE void value_tile(const Block& block, std::int64_t n, AttendWorkspace& workspace,
                           std::int64_t head, std::int64_t column) {
  const F32Tag d;
  const auto padded = static_cast<std::int64_t>(workspace.maximum.size());
  float* sums = workspace.sums.data() + head * n + column;
  F32 tile[Heads][kTileVectors];
  for (std::size_t h = 0; h < Heads; ++h) {
    const F32 rescale = hn::Set(d, workspace.rescale[static_cast<std::size_t>(head) + h]);
    for (std::size_t v = 0; v < kTileVectors; ++v) {
      const float* at = sums + static_cast<std::int64_t>(h) * n + v * kLanes;
      tile[h][v] = hn::Mul(hn::LoadU(d, at), rescale);
    }
  }
  const float* p = workspace.scores.data() + head;
  for (std::int64_t i = 0; i < block.count; ++i, p += padded) {
    F32 key[kTileVectors];
    for (std::size_t v = 0; v < kTileVectors; ++v) {
      key[v] = hn::LoadU(d, block.keys[i] + column + v * kLanes);
    }
    for (std::size_t h = 0; h < Heads; ++h) {
      const F32 weight = hn::Set(d, p[h]);
      for (std::size_t v = 0; v < kTileVectors; ++v) {
        tile[h][v] = hn::MulAdd(weight, key[v], tile[h][v]);
      }
    }
  }
  for (std::size_t h = 0; h < Heads; ++h) {
    for (std::size_t v = 0; v < kTileVectors; ++v) {
      hn::StoreU(tile[h][v], d, sums + static_cast<std::int64_t>(h) * n + v * kLanes);
    }
  }
}

void block_values(const Block& block, const AttendArgs& args, AttendWorkspace& workspace) {
  constexpr auto kHeads = static_cast<std::int64_t>(kTileHeads);
  const std::int64_t heads = args.q.extent(0);
  const std::int64_t n = args.q.extent(1);
  for (std::int64_t column = 0; column < n; column += static_cast<std::int64_t>(kTileColumns)) {
    std::int64_t head = 0;
    for (; head + kHeads <= heads; head += kHeads) {
      value_tile<kTileHeads>(block, n, workspace, head, column);
    }
    for (; head < heads; ++head) value_tile<1>(block, n, workspace, head, column);
  }
}

void finish(const AttendArgs& args, AttendWorkspace& workspace) {
  const F32Tag d;
  const std::int64_t n = args.q.extent(1);
  for (std::int64_t head = 0; head < args.q.extent(0); ++head) {
    const auto at = static_cast<std::size_t>(head);
    const F32 sink = hn::Set(d, args.sink[head] - workspace.maximum[at]);
    const F32 denominator = hn::Add(hn::Set(d, workspace.denominator[at]), vector_exp(d, sink));
    const float* sums = workspace.sums.data() + head * n;
    for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(kLanes)) {
      store_bf16(d, hn::Div(hn::LoadU(d, sums + i), denominator), &args.out(head, i));
    }
  }
}

void attend(const AttendArgs& args, AttendWorkspace& workspace) {
  const std::int64_t heads = args.q.extent(0);
  const std::int64_t n = args.q.extent(1);
  const std::int64_t padded = (heads + kHeadPadding - 1) / kHeadPadding * kHeadPadding;
  const auto lanes = static_cast<std::size_t>(padded);
  workspace.turned.resize(static_cast<std::size_t>(n * padded));
  workspace.scores.resize(static_cast<std::size_t>(kBlock * padded));
  workspace.rescale.resize(lanes);
  workspace.maximum.assign(lanes, kFirstMaximum);
  workspace.denominator.assign(lanes, 0.0F);
  workspace.sums.assign(static_cast<std::size_t>(heads * n), 0.0F);
  turn_query(args, padded, workspace.turned.data());

  for (std::int64_t begin = 0; begin < args.slots; begin += kBlock) {
    Block block;
    for (std::int64_t slot = begin; slot < std::min(begin + kBlock, args.slots); ++slot) {
      if (args.present[slot] != 0) block.keys[block.count++] = args.keys + slot * args.key_stride;
    }
    if (block.count == 0) continue;
    head_dots({.turned = workspace.turned.data(),
               .padded = padded,
               .n = n,
               .keys = block.keys,
               .count = block.count,
               .out = workspace.scores.data()});
    block_softmax(args, block.count, workspace);
    block_values(block, args, workspace);
  }
  finish(args, workspace);
}

}  // namespace
}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(attend);

// Between two keys, so that the same column of all keys does not fall into one set of the cache.
constexpr std::int64_t kKeyGap = 16;

}  // namespace

void attend_cpu(const AttendArgs& args, AttendWorkspace& workspace) {
  HWY_DYNAMIC_DISPATCH(attend)(args, workspace);
}

Status sparse_attention_cpu(const SparseAttentionArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, sparse_attention_limits(args));

  const std::int64_t heads = args.q.extent(1);
  const std::int64_t n = args.q.extent(2);
  const std::int64_t slots = args.window + args.top;
  workers.for_ranges(args.q.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t stride = n + kKeyGap;
    const auto keys =
        std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(slots * stride));
    const auto present =
        std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(slots));
    AttendWorkspace workspace;
    for (std::int64_t row = begin; row < end; ++row) {
      gather_keys({.args = &args,
                   .row = row,
                   .unpack = &unpack_row_cpu,
                   .keys = keys.get(),
                   .key_stride = stride,
                   .present = present.get()});
      attend_cpu({.keys = keys.get(),
                  .key_stride = stride,
                  .present = present.get(),
                  .slots = slots,
                  .q = View<const Bf16, 2>(&args.q(row, 0, 0), heads, n),
                  .out = View<Bf16, 2>(&args.out(row, 0, 0), heads, n),
                  .sink = args.sink.data(),
                  .scale = args.scale},
                 workspace);
    }
  });
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
