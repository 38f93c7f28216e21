// The limits of the indexer, what a row needs scores for, and the definition in plain C++.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/index/select.h"
#include "kernels/index/select_latents.h"
#include "kernels/quant/cache_formats.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kGroup = 32;

Status refuse(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, "select_latents: " + what);
}

std::int64_t blocks_of(const SelectLatentsArgs& args, std::int64_t row) {
  return (args.rows[row].visible + args.block_size - 1) / args.block_size;
}

void fill_ascending(std::int32_t* out, std::int64_t count, std::int64_t size) {
  std::iota(out, out + count, 0);
  std::fill(out + count, out + size, -1);
}

// Positions of the candidate blocks, ascending. There are no more of them than fit.
void write_allowed(const SelectLatentsArgs& args, std::int64_t row, std::int32_t* selected) {
  const std::int64_t top = args.selected.extent(1);
  const std::int32_t* blocks = args.candidates_in + row * args.candidate_blocks;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < args.candidate_blocks && blocks[i] >= 0; ++i) {
    const std::int64_t begin = blocks[i] * args.block_size;
    const std::int64_t end = std::min(begin + args.block_size, args.rows[row].visible);
    for (std::int64_t j = begin; j < end && count < top; ++j) {
      selected[count++] = static_cast<std::int32_t>(j);
    }
  }
  std::fill(selected + count, selected + top, -1);
}

Status row_limits(const SelectLatentsArgs& args, std::int64_t r) {
  const IndexRow& row = args.rows[r];
  if (row.visible < 0 || row.visible > std::numeric_limits<std::int32_t>::max()) {
    return refuse("row " + std::to_string(r) + " sees " + std::to_string(row.visible) + " latents");
  }
  const RowPlan plan = plan_row(args, r);
  if ((plan.scores_all || plan.scores_allowed) && row.pages == nullptr) {
    return refuse("row " + std::to_string(r) + " has no pages");
  }
  return Done{};
}

}  // namespace

RowPlan plan_row(const SelectLatentsArgs& args, std::int64_t row) {
  const bool must_choose = args.rows[row].visible > args.selected.extent(1);
  const bool must_choose_blocks =
      args.candidates_out != nullptr && blocks_of(args, row) > args.candidate_blocks;
  const bool is_restricted = args.candidates_in != nullptr;
  return RowPlan{.scores_all = must_choose_blocks || (must_choose && !is_restricted),
                 .scores_allowed = must_choose && is_restricted && !must_choose_blocks};
}

void write_unscored(const SelectLatentsArgs& args, std::int64_t row) {
  const std::int64_t top = args.selected.extent(1);
  const std::int64_t visible = args.rows[row].visible;
  if (visible <= top) {
    std::int32_t* selected = args.selected.data() + row * top;
    if (args.candidates_in != nullptr) {
      write_allowed(args, row, selected);
    } else {
      fill_ascending(selected, visible, top);
    }
  }
  const std::int64_t blocks = blocks_of(args, row);
  if (args.candidates_out != nullptr && blocks <= args.candidate_blocks) {
    fill_ascending(args.candidates_out + row * args.candidate_blocks, blocks,
                   args.candidate_blocks);
  }
}

void write_scored(const SelectLatentsArgs& args, std::int64_t row, const float* scores) {
  const std::int64_t top = args.selected.extent(1);
  const std::int64_t visible = args.rows[row].visible;
  if (visible > top) {
    const bool is_restricted = args.candidates_in != nullptr;
    select_top({.scores = scores,
                .visible = visible,
                .allowed_blocks =
                    is_restricted ? args.candidates_in + row * args.candidate_blocks : nullptr,
                .allowed_count = args.candidate_blocks,
                .block_size = args.block_size,
                .selected = args.selected.data() + row * top,
                .top = top});
  }
  if (args.candidates_out != nullptr && blocks_of(args, row) > args.candidate_blocks) {
    select_blocks({.scores = scores,
                   .visible = visible,
                   .block_size = args.block_size,
                   .blocks = args.candidates_out + row * args.candidate_blocks,
                   .count = args.candidate_blocks});
  }
}

IndexKey index_key(const SelectLatentsArgs& args, std::int64_t row, std::int64_t j) {
  const std::int64_t codes = code_bytes(CacheFormat::kFp4E8m0, args.q.extent(2));
  const std::int64_t scales = row_bytes(CacheFormat::kFp4E8m0, args.q.extent(2)) - codes;
  const std::uint8_t* page = args.rows[row].pages[j / args.entries_per_page] + args.page_offset;
  const std::int64_t entry = j % args.entries_per_page;
  return IndexKey{.codes = page + entry * codes,
                  .scales = page + args.entries_per_page * codes + entry * scales};
}

Status select_latents_limits(const SelectLatentsArgs& args) {
  const std::int64_t rows = args.q.extent(0);
  const std::int64_t heads = args.q.extent(1);
  const std::int64_t n = args.q.extent(2);
  if (args.a.extent(0) != rows || args.a.extent(1) != heads || args.selected.extent(0) != rows) {
    return refuse("shapes of q, a and selected disagree");
  }
  if (heads <= 0 || n <= 0 || n % kGroup != 0) {
    return refuse("heads is " + std::to_string(heads) + ", n is " + std::to_string(n));
  }
  if (args.selected.extent(1) <= 0 || args.entries_per_page <= 0) {
    return refuse("top is " + std::to_string(args.selected.extent(1)));
  }
  const bool has_candidates = args.candidates_in != nullptr || args.candidates_out != nullptr;
  if (args.block_size <= 0 || (has_candidates && args.candidate_blocks <= 0)) {
    return refuse("candidates are " + std::to_string(args.candidate_blocks) + " blocks of " +
                  std::to_string(args.block_size));
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    DEEPINFER_TRY([[maybe_unused]] const Done checked, row_limits(args, row));
  }
  return Done{};
}

Status select_latents_reference(const SelectLatentsArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, select_latents_limits(args));

  const std::int64_t n = args.q.extent(2);
  std::vector<float> key(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < args.q.extent(0); ++row) {
    write_unscored(args, row);
    const RowPlan plan = plan_row(args, row);
    if (!plan.scores_all && !plan.scores_allowed) continue;
    std::vector<float> scores;
    for (std::int64_t j = 0; j < args.rows[row].visible; ++j) {
      const IndexKey packed = index_key(args, row, j);
      unpack_row_reference({.format = CacheFormat::kFp4E8m0,
                            .codes = packed.codes,
                            .scales = packed.scales,
                            .n = n,
                            .unpacked = key.data()});
      double score = 0.0;
      for (std::int64_t head = 0; head < args.q.extent(1); ++head) {
        double dot = 0.0;
        for (std::int64_t i = 0; i < n; ++i) {
          dot += static_cast<double>(args.q(row, head, i)) *
                 static_cast<double>(key[static_cast<std::size_t>(i)]);
        }
        score += static_cast<double>(args.a(row, head)) * std::max(dot, 0.0);
      }
      scores.push_back(static_cast<float>(score));
    }
    write_scored(args, row, scores.data());
  }
  return Done{};
}

}  // namespace deepinfer::kernels
