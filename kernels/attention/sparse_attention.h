// Attention of one query token over its sliding window and its selected global entries, with a sink.
//
//   s_i = (q . key_i) * scale;  M = running max;  p_i = exp(s_i - M)
//   o = sum bf16(p_i) key_i / (sum p_i + exp(sink - M))
//
// Keys are also the values. Key slots: `window` slots for positions max(first_visible, t - window + 1)
// .. t, oldest first, the unused ones at the end; then the entries of `selected`, ascending, -1 ends
// them. The slots are walked in blocks of 64 with a running maximum (start -1e30, as the released
// program has it), so the rounding of p depends on the slots alone, never on chunk or batch.
//
// Shapes:   q, out [rows, heads, n] bf16; sink [heads] f32; selected [rows, top] i32
// Layout:   window entry kFp8E8m0 of n elements; ring slot = position mod ring_slots;
//           global entry kFp4E4m3 of n elements, contiguous in its page: entry j of the sequence is
//           entry j % entries_per_page of page j / entries_per_page, at page + page_offset
// Limits:   n % 32 == 0; heads > 0; window <= ring_slots; positions >= fresh_begin are in `fresh`,
//           older ones in the ring
// Numerics: fp32; the 16-partial-sum order of linear.h for q . key; p rounded to bf16 for the value
//           sum only; values added in slot order, one fused multiply-add each; one rounding to bf16.
//           Against the fp64 reference: 1 bf16 ulp + 2e-4.
// Batch:    row-pure. Threads: parallel over rows. Errors: kInvalidArgument when a limit is broken
// Source:   spec/model.md 5.9
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

// Where the keys of one query row lie.
struct AttentionRow {
  std::int64_t position = 0;            // t
  std::int64_t first_visible = 0;       // window keys before this position are not read
  const std::uint8_t* ring = nullptr;   // [ring_slots] window entries of this layer and sequence
  const std::uint8_t* fresh = nullptr;  // window entries of positions fresh_begin ..
  std::int64_t fresh_begin = 0;         // position of fresh[0]
  const std::uint8_t* const* pages = nullptr;  // global pages of the sequence; null: window only
};

struct SparseAttentionArgs {
  View<const Bf16, 3> q;
  View<Bf16, 3> out;
  View<const float, 1> sink;
  const AttentionRow* rows = nullptr;      // [rows]
  const std::int32_t* selected = nullptr;  // [rows, top]; null when top is 0
  std::int64_t top = 0;
  std::int64_t window = 128;  // positions, the query's own included
  std::int64_t ring_slots = 134;
  std::int64_t entries_per_page = 128;
  std::int64_t page_offset = 0;  // bytes from a page's start to its first global entry
  float scale = 1.0F;            // 1 / sqrt(n)
};

[[nodiscard]] Status sparse_attention_limits(const SparseAttentionArgs& args);
[[nodiscard]] Status sparse_attention_reference(const SparseAttentionArgs& args);
[[nodiscard]] Status sparse_attention_cpu(const SparseAttentionArgs& args, Workers& workers);

}  // namespace deepinfer::kernels
