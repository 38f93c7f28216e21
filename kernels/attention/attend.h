// The inner part of sparse attention: one query row over keys that were gathered and unpacked.
//
// The contract (formula, block walk, numerics) is in sparse_attention.h; here the slots are given.
//
// Shapes:   keys: slot i at keys + i * key_stride, [n] f32; present [slots]: 0 marks an empty slot
//           q, out [heads, n] bf16; sink [heads]
// Limits:   n % 32 == 0; key_stride >= n
// Batch:    row-pure
// Cost:     attend_cpu writes only into its workspace, which grows to the largest row and is kept
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention/sparse_attention.h"
#include "kernels/float_types.h"
#include "kernels/quant/cache_formats.h"
#include "kernels/view.h"

namespace deepinfer::kernels {

struct AttendArgs {
  const float* keys = nullptr;
  std::int64_t key_stride = 0;  // elements
  const std::uint8_t* present = nullptr;
  std::int64_t slots = 0;
  View<const Bf16, 2> q;
  View<Bf16, 2> out;
  const float* sink = nullptr;
  float scale = 1.0F;
};

// Memory of one worker.
struct AttendWorkspace {
  std::vector<float> turned;       // [n, padded heads]: the query, heads across
  std::vector<float> scores;       // [64, padded heads]: scores, then probabilities of a block
  std::vector<float> sums;         // [heads, n]: the output before its division
  std::vector<float> maximum;      // [padded heads]
  std::vector<float> denominator;  // [padded heads]
  std::vector<float> rescale;      // [padded heads]
};

void attend_reference(const AttendArgs& args);
void attend_cpu(const AttendArgs& args, AttendWorkspace& workspace);

// The window positions a query sees: first .. first + count - 1.
struct WindowSpan {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
[[nodiscard]] WindowSpan window_span(const AttentionRow& row, std::int64_t window);

// The slots of query row `row`: unpacks their keys and says which slots hold one.
struct GatherArgs {
  const SparseAttentionArgs* args;
  std::int64_t row;
  void (*unpack)(const UnpackRow& row);  // unpack_row_reference or unpack_row_cpu
  float* keys;
  std::int64_t key_stride;
  std::uint8_t* present;  // [window + top]
};
void gather_keys(const GatherArgs& gather);

}  // namespace deepinfer::kernels
