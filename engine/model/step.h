// One step's work as the forward pass sees it: slices of sequences, their rows side by side.
//
// Rows of all slices form one batch of `rows()` rows; row r belongs to slice_of[r]. A slice may be a
// prompt chunk or a single decoded token; nothing in the forward pass tells them apart.
//
// Units:    positions and counts in tokens
// Threads:  confined to the engine thread
// Lifetime: the pointers of a slice are valid for the step
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "engine/kv/cache_layout.h"
#include "engine/model/ops.h"
#include "engine/model/shape.h"
#include "kernels/float_types.h"
#include "kernels/view.h"

namespace deepinfer::engine {

struct SequenceSlice {
  std::span<const TokenId> tokens;        // this step's, in order; at least one
  std::span<const TokenId> before;        // what precedes them: min(begin, max_ngram - 1) tokens
  std::int64_t begin = 0;                 // position of tokens[0]
  std::uint8_t* slot = nullptr;           // state slot of the sequence
  std::span<std::uint8_t* const> blocks;  // covering positions 0 .. begin + tokens.size() - 1
  std::int64_t logit_rows = 0;            // the last so many rows get logits

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(tokens.size()); }
};

// Sees the inside of a step; tests compare it with the goldens. Names are those of the golden files.
class StepObserver {
 public:
  StepObserver() = default;
  StepObserver(const StepObserver&) = delete;
  StepObserver& operator=(const StepObserver&) = delete;
  virtual ~StepObserver() = default;

  virtual void saw(std::int64_t layer, std::string_view name,
                   std::span<const kernels::Bf16> values) = 0;
  virtual void saw(std::int64_t layer, std::string_view name, std::span<const float> values) = 0;
  virtual void saw(std::int64_t layer, std::string_view name,
                   std::span<const std::int32_t> values) = 0;
  virtual void saw(std::int64_t layer, std::string_view name,
                   std::span<const std::int64_t> values) = 0;
};

// What every part of the forward pass works with; belongs to the Forward that made it.
struct StepTools {
  const ModelShape& shape;
  const CacheLayout& layout;
  const Ops& ops;
  kernels::Workers& workers;
  kernels::Scratch& scratch;
  StepObserver* observer = nullptr;

  template <typename T>
  void show(std::int64_t layer, std::string_view name, const T* values, std::int64_t count) const {
    if (observer != nullptr) {
      observer->saw(layer, name, std::span<const T>(values, static_cast<std::size_t>(count)));
    }
  }
};

// cos and sin of one RoPE table for some positions.
struct RopeRows {
  float* cos = nullptr;  // [rows, rope_dims / 2]
  float* sin = nullptr;

  [[nodiscard]] kernels::View<const float, 2> cos_view(std::int64_t rows, std::int64_t half) const {
    return kernels::View<const float, 2>(cos, rows, half);
  }
  [[nodiscard]] kernels::View<const float, 2> sin_view(std::int64_t rows, std::int64_t half) const {
    return kernels::View<const float, 2>(sin, rows, half);
  }
};

// The rows of a step and what travels from layer to layer.
struct StepRows {
  std::span<const SequenceSlice> slices;
  std::int64_t rows = 0;
  std::int64_t* positions = nullptr;                         // [rows]
  RopeRows window_rope;                                      // layers with ratio 0
  RopeRows compress_rope;                                    // layers with ratio > 0
  const std::vector<float>* compress_frequencies = nullptr;  // of compress_rope, for latents
  kernels::Bf16* h = nullptr;                                // [rows, copies, hidden], the stream
  float* pre = nullptr;                                      // [rows, copies], the carried pre-mix
  std::int32_t* selected = nullptr;    // [rows, index_top], of the latest indexer
  std::int32_t* candidates = nullptr;  // [rows, candidate_blocks]

  [[nodiscard]] kernels::View<kernels::Bf16, 3> stream(const ModelShape& shape) const {
    return kernels::View<kernels::Bf16, 3>(h, rows, shape.copies, shape.hidden);
  }
  [[nodiscard]] kernels::View<const kernels::Bf16, 3> read_stream(const ModelShape& shape) const {
    return kernels::View<const kernels::Bf16, 3>(h, rows, shape.copies, shape.hidden);
  }
};

}  // namespace deepinfer::engine
