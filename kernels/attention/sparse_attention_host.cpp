// The limits of sparse attention, which slots a query sees, and the definition in plain C++ (fp64
// sums; p rounded to bf16 against the running maximum of 64-slot blocks, as the contract says).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/attention/attend.h"
#include "kernels/attention/sparse_attention.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kBlock = 64;  // slots
constexpr double kFirstMaximum = -1e30;
constexpr std::int64_t kGroup = 32;

Status refuse(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, "sparse_attention: " + what);
}

Status row_limits(const SparseAttentionArgs& args, std::int64_t r) {
  const AttentionRow& row = args.rows[r];
  const std::string where = "row " + std::to_string(r) + ": ";
  if (row.position < 0) return refuse(where + "position " + std::to_string(row.position));
  const WindowSpan span = window_span(row, args.window);
  const std::int64_t end = span.first + span.count;
  if (row.fresh == nullptr && end > row.fresh_begin) return refuse(where + "no fresh keys");
  if (row.ring == nullptr && span.count > 0 && span.first < row.fresh_begin) {
    return refuse(where + "no ring");
  }
  if (args.top > 0 && row.pages == nullptr && args.selected[r * args.top] >= 0) {
    return refuse(where + "entries are selected, but it has no pages");
  }
  return Done{};
}

// What the blocks walked so far have left of one head.
struct HeadState {
  std::vector<double> sums;  // [n], before the division
  double maximum = kFirstMaximum;
  double denominator = 0.0;
};

double score_of(const AttendArgs& args, std::int64_t head, std::int64_t slot) {
  const float* key = args.keys + slot * args.key_stride;
  double score = 0.0;
  for (std::int64_t i = 0; i < args.q.extent(1); ++i) {
    score += static_cast<double>(to_float(args.q(head, i))) * static_cast<double>(key[i]);
  }
  return score * static_cast<double>(args.scale);
}

void raise_maximum(HeadState& state, double maximum) {
  const double rescale = std::exp(state.maximum - maximum);
  state.denominator *= rescale;
  for (double& sum : state.sums) sum *= rescale;
  state.maximum = maximum;
}

// p counts in full for the denominator, rounded for the values.
void add_slot(HeadState& state, double p, const float* key) {
  const double rounded = to_float(to_bf16(static_cast<float>(p)));
  state.denominator += p;
  for (double& sum : state.sums) sum += rounded * static_cast<double>(*key++);
}

void add_block(const AttendArgs& args, std::int64_t head, std::int64_t begin, HeadState& state) {
  std::vector<std::int64_t> slots;
  std::vector<double> scores;
  for (std::int64_t slot = begin; slot < std::min(begin + kBlock, args.slots); ++slot) {
    if (args.present[slot] == 0) continue;
    slots.push_back(slot);
    scores.push_back(score_of(args, head, slot));
  }
  if (slots.empty()) return;
  raise_maximum(state, std::max(state.maximum, *std::max_element(scores.begin(), scores.end())));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    add_slot(state, std::exp(scores[i] - state.maximum), args.keys + slots[i] * args.key_stride);
  }
}

// One head of one row.
void attend_head(const AttendArgs& args, std::int64_t head) {
  HeadState state;
  state.sums.assign(static_cast<std::size_t>(args.q.extent(1)), 0.0);
  for (std::int64_t begin = 0; begin < args.slots; begin += kBlock) {
    add_block(args, head, begin, state);
  }
  state.denominator += std::exp(static_cast<double>(args.sink[head]) - state.maximum);
  std::transform(state.sums.begin(), state.sums.end(), &args.out(head, 0),
                 [&](double sum) { return to_bf16(static_cast<float>(sum / state.denominator)); });
}

}  // namespace

WindowSpan window_span(const AttentionRow& row, std::int64_t window) {
  const std::int64_t first =
      std::max({row.first_visible, row.position - window + 1, std::int64_t{0}});
  return WindowSpan{.first = first, .count = std::max<std::int64_t>(row.position - first + 1, 0)};
}

void gather_keys(const GatherArgs& gather) {
  const SparseAttentionArgs& args = *gather.args;
  const AttentionRow& row = args.rows[gather.row];
  const std::int64_t n = args.q.extent(2);
  std::fill(gather.present, gather.present + args.window + args.top, std::uint8_t{0});
  const auto unpack = [&](CacheFormat format, const std::uint8_t* entry, std::int64_t slot) {
    gather.present[slot] = 1;
    gather.unpack({.format = format,
                   .codes = entry,
                   .scales = entry + code_bytes(format, n),
                   .n = n,
                   .unpacked = gather.keys + slot * gather.key_stride});
  };

  const WindowSpan span = window_span(row, args.window);
  const std::int64_t window_bytes = row_bytes(CacheFormat::kFp8E8m0, n);
  for (std::int64_t slot = 0; slot < span.count; ++slot) {
    const std::int64_t position = span.first + slot;
    const std::uint8_t* entry = position >= row.fresh_begin
                                    ? row.fresh + (position - row.fresh_begin) * window_bytes
                                    : row.ring + position % args.ring_slots * window_bytes;
    unpack(CacheFormat::kFp8E8m0, entry, slot);
  }

  const std::int64_t global_bytes = row_bytes(CacheFormat::kFp4E4m3, n);
  for (std::int64_t i = 0; i < args.top; ++i) {
    const std::int64_t entry = args.selected[gather.row * args.top + i];
    if (entry < 0) break;
    const std::uint8_t* page = row.pages[entry / args.entries_per_page] + args.page_offset;
    unpack(CacheFormat::kFp4E4m3, page + entry % args.entries_per_page * global_bytes,
           args.window + i);
  }
}

void attend_reference(const AttendArgs& args) {
  for (std::int64_t head = 0; head < args.q.extent(0); ++head) attend_head(args, head);
}

Status sparse_attention_limits(const SparseAttentionArgs& args) {
  const std::int64_t heads = args.q.extent(1);
  const std::int64_t n = args.q.extent(2);
  for (std::size_t dimension = 0; dimension < 3; ++dimension) {
    if (args.q.extent(dimension) != args.out.extent(dimension)) {
      return refuse("shapes of q and out disagree");
    }
  }
  if (heads <= 0 || args.sink.extent(0) != heads || n <= 0 || n % kGroup != 0) {
    return refuse("heads is " + std::to_string(heads) + ", n is " + std::to_string(n));
  }
  if (args.window <= 0 || args.window > args.ring_slots) {
    return refuse("window " + std::to_string(args.window) + " of " +
                  std::to_string(args.ring_slots) + " ring slots");
  }
  if (args.top < 0 || (args.top > 0 && args.selected == nullptr) || args.entries_per_page <= 0) {
    return refuse("top is " + std::to_string(args.top));
  }
  for (std::int64_t r = 0; r < args.q.extent(0); ++r) {
    DEEPINFER_TRY([[maybe_unused]] const Done checked, row_limits(args, r));
  }
  return Done{};
}

Status sparse_attention_reference(const SparseAttentionArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, sparse_attention_limits(args));

  const std::int64_t heads = args.q.extent(1);
  const std::int64_t n = args.q.extent(2);
  const std::int64_t slots = args.window + args.top;
  std::vector<float> keys(static_cast<std::size_t>(slots * n));
  std::vector<std::uint8_t> present(static_cast<std::size_t>(slots));
  for (std::int64_t row = 0; row < args.q.extent(0); ++row) {
    gather_keys({.args = &args,
                 .row = row,
                 .unpack = &unpack_row_reference,
                 .keys = keys.data(),
                 .key_stride = n,
                 .present = present.data()});
    attend_reference({.keys = keys.data(),
                      .key_stride = n,
                      .present = present.data(),
                      .slots = slots,
                      .q = View<const Bf16, 2>(&args.q(row, 0, 0), heads, n),
                      .out = View<Bf16, 2>(&args.out(row, 0, 0), heads, n),
                      .sink = args.sink.data(),
                      .scale = args.scale});
  }
  return Done{};
}

}  // namespace deepinfer::kernels
