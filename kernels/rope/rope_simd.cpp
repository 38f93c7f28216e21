#include <cstdint>

#include "kernels/rope/rope.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rope/rope_simd.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// to_bf16 of every lane, left in the upper half of its word.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32Tag>> rounded_high(F32 v) {
  const hn::RebindToUnsigned<F32Tag> u32;
  const auto bits = hn::BitCast(u32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(u32, 0x7fffU)));
  const auto quiet = hn::Or(bits, hn::Set(u32, 0x400000U));
  const auto is_nan = hn::RebindMask(u32, hn::IsNaN(v));
  return hn::And(hn::IfThenElse(is_nan, quiet, rounded), hn::Set(u32, 0xffff0000U));
}
#endif

struct Turn {
  const float* cos;
  const float* sin;
  float sign;  // of the sines
  std::int64_t pairs;
};

// Rotates whole vectors of pairs; returns how many pairs it did. A word holds a pair: the even element
// in its lower half, the odd one in its upper half.
HWY_INLINE std::int64_t rotate_vectors(const Turn& turn, Bf16* HWY_RESTRICT tail) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no two elements in a word
  const F32Tag d;
  const hn::RebindToUnsigned<F32Tag> u32;
  const hn::Repartition<std::uint16_t, F32Tag> u16;
  const auto lanes = static_cast<std::int64_t>(kLanes);
  for (; i + lanes <= turn.pairs; i += lanes) {
    const auto words = hn::BitCast(u32, hn::LoadU(u16, &tail[2 * i].bits));
    const F32 a = hn::BitCast(d, hn::ShiftLeft<16>(words));
    const F32 b = hn::BitCast(d, hn::And(words, hn::Set(u32, 0xffff0000U)));
    const F32 c = hn::LoadU(d, turn.cos + i);
    const F32 s = hn::Mul(hn::LoadU(d, turn.sin + i), hn::Set(d, turn.sign));
    const auto even = rounded_high(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)));
    const auto odd = rounded_high(hn::Add(hn::Mul(a, s), hn::Mul(b, c)));
    const auto pair = hn::Or(hn::ShiftRight<16>(even), odd);
    hn::StoreU(hn::BitCast(u16, pair), u16, &tail[2 * i].bits);
  }
#else
  (void)turn;
  (void)tail;
#endif
  return i;
}

HWY_INLINE void rotate_tail(const Turn& turn, Bf16* HWY_RESTRICT tail) {
  for (std::int64_t i = rotate_vectors(turn, tail); i < turn.pairs; ++i) {
    const float a = to_float(tail[2 * i]);
    const float b = to_float(tail[2 * i + 1]);
    const float s = turn.sin[i] * turn.sign;
    tail[2 * i] = to_bf16(a * turn.cos[i] - b * s);
    tail[2 * i + 1] = to_bf16(a * s + b * turn.cos[i]);
  }
}

void rotate_rows(const RotateArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t heads = args.x.extent(1);
  const std::int64_t n = args.x.extent(2);
  const std::int64_t pairs = args.cos.extent(1);
  for (std::int64_t row = begin; row < end; ++row) {
    const Turn turn{.cos = args.cos.data() + row * pairs,
                    .sin = args.sin.data() + row * pairs,
                    .sign = args.direction == RopeDirection::kForward ? 1.0F : -1.0F,
                    .pairs = pairs};
    Bf16* x = args.x.data() + row * heads * n + n - 2 * pairs;
    for (std::int64_t head = 0; head < heads; ++head) rotate_tail(turn, x + head * n);
  }
}

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(rotate_rows);

// Waking a second thread costs about as much as this many rotated pairs.
constexpr std::int64_t kPairsWorthAThread = 16384;

}  // namespace

Status rotate_cpu(const RotateArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, rotate_limits(args));

  const auto rotate = HWY_DYNAMIC_DISPATCH(rotate_rows);
  const std::int64_t rows = args.x.extent(0);
  if (rows * args.x.extent(1) * args.cos.extent(1) < kPairsWorthAThread) {
    rotate(args, 0, rows);
    return Done{};
  }
  workers.for_ranges(rows, [&](std::int64_t begin, std::int64_t end, int /*worker*/) {
    rotate(args, begin, end);
  });
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
