// The indexer: scores every visible latent for a query token and keeps the best ones.
//
//   score_j = sum over heads of a[h] * relu(q[h] . k_j),  j < visible
//   selected = the `top` latents of the greatest score, ascending; all of them when visible <= top
//
// Candidates: the source layer also keeps the best `candidate_blocks` blocks of `block_size` latents
// (block score = max of its visible latents; the block of latent visible - 1 is always kept; a block
// without a visible latent never is). A later layer may be restricted to them.
//
// Shapes:   q [rows, heads, n] f32 (values of kFp4E8m0); a [rows, heads] f32; selected [rows, top]
//           i32, ascending, -1 padded; candidates [rows, candidate_blocks] i32 block numbers,
//           ascending, -1 padded
// Layout:   index key j: page j / entries_per_page; inside the page, at page_offset, first all codes
//           (n/2 B each), then all E8M0 scales (n/32 B each)
// Numerics: fp32; q . k in the 16-partial-sum order of linear.h, heads added ascending, one product
//           and one sum each. Total order: greater score first, ties to the lower position.
// Batch:    row-pure. Threads: parallel over rows. Errors: kInvalidArgument when a limit is broken
// Source:   spec/model.md 5.8 (scores kept in fp32 as it recommends)
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

struct IndexRow {
  std::int64_t visible = 0;                    // T(t), latents
  const std::uint8_t* const* pages = nullptr;  // index pages of the sequence; rows of one sequence
                                               // share the pointer and stand side by side
};

struct SelectLatentsArgs {
  View<const float, 3> q;
  View<const float, 2> a;
  const IndexRow* rows = nullptr;  // [rows]
  View<std::int32_t, 2> selected;
  std::int64_t entries_per_page = 128;
  std::int64_t page_offset = 0;  // bytes
  // Candidate blocks; both null on layers without.
  std::int32_t* candidates_out = nullptr;       // [rows, candidate_blocks]: written
  const std::int32_t* candidates_in = nullptr;  // [rows, candidate_blocks]: the restriction
  std::int64_t candidate_blocks = 0;
  std::int64_t block_size = 8;  // latents
};

[[nodiscard]] Status select_latents_limits(const SelectLatentsArgs& args);
[[nodiscard]] Status select_latents_reference(const SelectLatentsArgs& args);
[[nodiscard]] Status select_latents_cpu(const SelectLatentsArgs& args, Workers& workers);

// The two selections on given scores, for tests and for callers that have scores already.
// scores [visible]; selected [top], ascending, -1 padded. allowed: ascending block numbers, -1
// padded, or null for all.
struct SelectTopArgs {
  const float* scores = nullptr;
  std::int64_t visible = 0;
  const std::int32_t* allowed_blocks = nullptr;
  std::int64_t allowed_count = 0;
  std::int64_t block_size = 8;
  std::int32_t* selected = nullptr;
  std::int64_t top = 0;
};
void select_top(const SelectTopArgs& args);

struct SelectBlocksArgs {
  const float* scores = nullptr;
  std::int64_t visible = 0;
  std::int64_t block_size = 8;
  std::int32_t* blocks = nullptr;  // [count], ascending, -1 padded
  std::int64_t count = 0;
};
void select_blocks(const SelectBlocksArgs& args);

}  // namespace deepinfer::kernels
