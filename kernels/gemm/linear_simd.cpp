// Two paths with the same bits, because both feed the same 16 sums in the same order:
//
// One row (decode): kDotOutputs rows of W are unpacked in registers and used at once. Bound by the
// bytes of W.
//
// More rows: W is unpacked once for up to kBlockRows rows of x, a tile of kTileOutputs x kBlockCols at a
// time into the first-level cache; register tiles of kMicroRows x kMicroOutputs run over it. The sums
// wait in memory between two blocks of columns.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/gemm/linear.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/linear_simd.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/gemm/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deepinfer::kernels::HWY_NAMESPACE {

// As many independent chains as hide the latency of a multiply-add beside the unpacking.
constexpr std::size_t kDotOutputs = 4;

// The sums of a register tile and its operands fit 32 vector registers (AVX-512) or 16.
constexpr std::size_t kMicroOutputs = kParts == 1 ? 4 : 2;
constexpr std::size_t kMicroRows = kParts == 1 ? 4 : 3;

constexpr std::size_t kTileOutputs = 8;
constexpr std::int64_t kBlockCols = 512;  // 16 KB of unpacked weights
constexpr std::int64_t kBlockRows = 32;   // 16 KB of sums; 640 KB of x at 5,120 columns
static_assert(kTileOutputs % kMicroOutputs == 0);

void store_y(const LinearArgs& args, std::int64_t row, std::int64_t output, float value) {
  const std::int64_t stride = args.y_stride == 0 ? args.weight.outputs : args.y_stride;
  if (args.y_f32 != nullptr) {
    args.y_f32[row * stride + output] = value;
  } else {
    args.y_bf16[row * stride + output] = to_bf16(value);
  }
}

template <class Format, std::size_t Chunks, std::size_t Outputs>
HWY_INLINE void dot_step(const WeightRow (&rows)[Outputs], const float* HWY_RESTRICT x,
                         std::int64_t k, Sums16 (&sums)[Outputs]) {
  const F32Tag d;
  for (std::size_t o = 0; o < Outputs; ++o) {
    F32 w[2 * kParts];
    Format::template unpack<Chunks>(rows[o], k, w);
    for (std::size_t p = 0; p < Chunks * kParts; ++p) {
      F32& sum = sums[o].part[p % kParts];
      sum = hn::MulAdd(hn::LoadU(d, x + k + p * kLanes), w[p], sum);
    }
  }
}

template <class Format, std::size_t Outputs>
HWY_INLINE void dot_outputs(const LinearArgs& args, std::int64_t first) {
  const float* x = args.x.data();
  const std::int64_t cols = args.weight.cols;
  WeightRow rows[Outputs];
  Sums16 sums[Outputs];
  for (std::size_t o = 0; o < Outputs; ++o) {
    rows[o] = Format::row(args.weight, first + static_cast<std::int64_t>(o));
    sums[o] = zero16();
  }
  std::int64_t k = 0;
  for (; k + 32 <= cols; k += 32) dot_step<Format, 2>(rows, x, k, sums);
  if (k < cols) dot_step<Format, 1>(rows, x, k, sums);
  for (std::size_t o = 0; o < Outputs; ++o) {
    store_y(args, 0, first + static_cast<std::int64_t>(o),
            fold16(sums[o]) * Format::sum_scale(rows[o], cols));
  }
}

template <class Format>
void one_row(const LinearArgs& args, std::int64_t begin, std::int64_t end) {
  constexpr auto kStep = static_cast<std::int64_t>(kDotOutputs);
  std::int64_t n = begin;
  for (; n + kStep <= end; n += kStep) dot_outputs<Format, kDotOutputs>(args, n);
  for (; n < end; ++n) dot_outputs<Format, 1>(args, n);
}

struct alignas(64) Tile {
  float weights[kTileOutputs][kBlockCols];
  float sums[kBlockRows][kTileOutputs][kPartialSums];
};

struct Block {
  const float* x;  // the first row's element at the block's first column
  std::int64_t x_stride;
  std::size_t rows;
  std::int64_t cols;
};

template <std::size_t Rows>
struct MicroSums {
  F32 at[Rows][kMicroOutputs][kParts];
};

template <std::size_t Rows>
HWY_INLINE void load_sums(const Tile& tile, std::size_t row, std::size_t output,
                          MicroSums<Rows>& sums) {
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t o = 0; o < kMicroOutputs; ++o) {
      for (std::size_t p = 0; p < kParts; ++p) {
        sums.at[r][o][p] = hn::Load(F32Tag(), &tile.sums[row + r][output + o][p * kLanes]);
      }
    }
  }
}

template <std::size_t Rows>
HWY_INLINE void store_sums(const MicroSums<Rows>& sums, std::size_t row, std::size_t output,
                           Tile& tile) {
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t o = 0; o < kMicroOutputs; ++o) {
      for (std::size_t p = 0; p < kParts; ++p) {
        hn::Store(sums.at[r][o][p], F32Tag(), &tile.sums[row + r][output + o][p * kLanes]);
      }
    }
  }
}

// One vector of columns, which belongs to one part of the sums.
template <std::size_t Rows>
HWY_INLINE void add_products(const float* const (&x)[Rows], const float (*weights)[kBlockCols],
                             std::int64_t k, std::size_t part, MicroSums<Rows>& sums) {
  const F32Tag d;
  F32 w[kMicroOutputs];
  for (std::size_t o = 0; o < kMicroOutputs; ++o) w[o] = hn::Load(d, weights[o] + k);
  for (std::size_t r = 0; r < Rows; ++r) {
    const F32 left = hn::LoadU(d, x[r] + k);
    for (std::size_t o = 0; o < kMicroOutputs; ++o) {
      sums.at[r][o][part] = hn::MulAdd(left, w[o], sums.at[r][o][part]);
    }
  }
}

// Adds a block of columns to the sums of Rows x kMicroOutputs.
template <std::size_t Rows>
HWY_INLINE void micro_tile(const Block& block, std::size_t row, std::size_t output, Tile& tile) {
  const float* x[Rows];
  for (std::size_t r = 0; r < Rows; ++r) {
    x[r] = block.x + static_cast<std::int64_t>(row + r) * block.x_stride;
  }
  MicroSums<Rows> sums;
  load_sums(tile, row, output, sums);
  for (std::int64_t k = 0; k < block.cols; k += static_cast<std::int64_t>(kPartialSums)) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const auto at = k + static_cast<std::int64_t>(p * kLanes);
      add_products(x, &tile.weights[output], at, p, sums);
    }
  }
  store_sums(sums, row, output, tile);
}

// The rows from `row` on: whole register tiles, or the `Rows` that are left.
template <std::size_t Rows>
HWY_INLINE void micro_rows(const Block& block, std::size_t row, Tile& tile) {
  if constexpr (Rows > 1) {
    if (block.rows - row < Rows) return micro_rows<Rows - 1>(block, row, tile);
  }
  for (std::size_t o = 0; o < kTileOutputs; o += kMicroOutputs) {
    micro_tile<Rows>(block, row, o, tile);
  }
}

template <class Format>
HWY_INLINE void unpack_tile(const WeightRow& row, std::int64_t first, std::int64_t cols,
                            float* HWY_RESTRICT unpacked) {
  const F32Tag d;
  F32 w[2 * kParts];
  std::int64_t k = 0;
  for (; k + 32 <= cols; k += 32) {
    Format::template unpack<2>(row, first + k, w);
    for (std::size_t p = 0; p < 2 * kParts; ++p) hn::Store(w[p], d, unpacked + k + p * kLanes);
  }
  if (k == cols) return;
  Format::template unpack<1>(row, first + k, w);
  for (std::size_t p = 0; p < kParts; ++p) hn::Store(w[p], d, unpacked + k + p * kLanes);
}

// At most kBlockRows rows with at most kTileOutputs outputs.
struct TileRange {
  std::int64_t row;
  std::size_t rows;
  std::int64_t output;
  std::size_t outputs;
};

template <class Format>
HWY_INLINE void fold_tile(const LinearArgs& args, const TileRange& range, const Tile& tile) {
  const F32Tag d;
  for (std::size_t o = 0; o < range.outputs; ++o) {
    const std::int64_t n = range.output + static_cast<std::int64_t>(o);
    const float scale = Format::sum_scale(Format::row(args.weight, n), args.weight.cols);
    for (std::size_t r = 0; r < range.rows; ++r) {
      Sums16 sums;
      for (std::size_t p = 0; p < kParts; ++p) {
        sums.part[p] = hn::Load(d, &tile.sums[r][o][p * kLanes]);
      }
      store_y(args, range.row + static_cast<std::int64_t>(r), n, fold16(sums) * scale);
    }
  }
}

template <class Format>
void run_tile(const LinearArgs& args, const TileRange& range, Tile& tile) {
  const std::int64_t cols = args.weight.cols;
  std::memset(&tile.sums, 0, sizeof(tile.sums[0]) * range.rows);
  // Outputs that a last tile lacks are computed as zeros and not stored.
  if (range.outputs < kTileOutputs) std::memset(&tile.weights, 0, sizeof(tile.weights));
  for (std::int64_t k = 0; k < cols; k += kBlockCols) {
    const Block block{.x = args.x.data() + range.row * cols + k,
                      .x_stride = cols,
                      .rows = range.rows,
                      .cols = HWY_MIN(kBlockCols, cols - k)};
    for (std::size_t o = 0; o < range.outputs; ++o) {
      const auto n = range.output + static_cast<std::int64_t>(o);
      unpack_tile<Format>(Format::row(args.weight, n), k, block.cols, tile.weights[o]);
    }
    for (std::size_t r = 0; r < range.rows; r += kMicroRows) {
      micro_rows<kMicroRows>(block, r, tile);
    }
  }
  fold_tile<Format>(args, range, tile);
}

template <class Format>
void many_rows(const LinearArgs& args, std::int64_t begin, std::int64_t end) {
  constexpr auto kStep = static_cast<std::int64_t>(kTileOutputs);
  const std::int64_t rows = args.x.extent(0);
  Tile tile{};
  for (std::int64_t r = 0; r < rows; r += kBlockRows) {
    for (std::int64_t n = begin; n < end; n += kStep) {
      const TileRange range{.row = r,
                            .rows = static_cast<std::size_t>(HWY_MIN(kBlockRows, rows - r)),
                            .output = n,
                            .outputs = static_cast<std::size_t>(HWY_MIN(kStep, end - n))};
      run_tile<Format>(args, range, tile);
    }
  }
}

template <class Format>
void outputs_of(const LinearArgs& args, std::int64_t begin, std::int64_t end) {
  if (args.x.extent(0) == 1) return one_row<Format>(args, begin, end);
  many_rows<Format>(args, begin, end);
}

void linear_outputs(const LinearArgs& args, std::int64_t begin, std::int64_t end) {
  switch (args.weight.format) {
    case WeightFormat::kFp8Block32:
      return outputs_of<Fp8Block32>(args, begin, end);
    case WeightFormat::kFp4Group32:
      return outputs_of<Fp4Group32>(args, begin, end);
    case WeightFormat::kBf16:
      return outputs_of<Bf16Weights>(args, begin, end);
    case WeightFormat::kF32:
      return outputs_of<F32Weights>(args, begin, end);
  }
}

}  // namespace deepinfer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deepinfer::kernels {
namespace {

HWY_EXPORT(linear_outputs);

constexpr std::int64_t kOutputsPerPart = 8;  // whole tiles for every thread

}  // namespace

Status linear_cpu(const LinearArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, linear_limits(args));
  if (args.x.extent(0) == 0) return Done{};

  const auto outputs_of_parts = HWY_DYNAMIC_DISPATCH(linear_outputs);
  const std::int64_t outputs = args.weight.outputs;
  const std::int64_t parts = (outputs + kOutputsPerPart - 1) / kOutputsPerPart;
  workers.for_ranges(parts, [&](std::int64_t begin, std::int64_t end, int /*worker*/) {
    outputs_of_parts(args, begin * kOutputsPerPart, HWY_MIN(end * kOutputsPerPart, outputs));
  });
  return Done{};
}

}  // namespace deepinfer::kernels
#endif  // HWY_ONCE
