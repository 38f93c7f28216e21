// Short forms of the calls that every part of a layer makes: quantise, widen, multiply, normalise.
//
// Each takes its result from the step's scratch memory and hands it back.
//
// Lifetime: results live until the caller's Scratch::Mark dies
// Errors:   those of the operation
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/model/step.h"

namespace deepinfer::engine {

// A matrix of rows in scratch memory.
template <typename T>
struct Rows {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  [[nodiscard]] kernels::View<T, 2> view() const { return kernels::View<T, 2>(data, rows, cols); }
  [[nodiscard]] kernels::View<const T, 2> read() const {
    return kernels::View<const T, 2>(data, rows, cols);
  }
  [[nodiscard]] kernels::View<T, 3> heads(std::int64_t count) const {
    return kernels::View<T, 3>(data, rows, count, cols / count);
  }
  [[nodiscard]] std::int64_t size() const { return rows * cols; }
};

template <typename T>
[[nodiscard]] Rows<T> take_rows(const StepTools& tools, std::int64_t rows, std::int64_t cols) {
  return {tools.scratch.take<T>(rows * cols), rows, cols};
}

[[nodiscard]] Result<Rows<float>> quantize(const StepTools& tools, const Rows<kernels::Bf16>& x);
[[nodiscard]] Result<Rows<float>> widen(const StepTools& tools, const Rows<kernels::Bf16>& x);
[[nodiscard]] Result<Rows<kernels::Bf16>> multiply(const StepTools& tools, const Rows<float>& x,
                                                   const kernels::WeightMatrix& weight);
[[nodiscard]] Result<Rows<float>> multiply_f32(const StepTools& tools, const Rows<float>& x,
                                               const kernels::WeightMatrix& weight);
// In place.
[[nodiscard]] Status normalize(const StepTools& tools, const Rows<kernels::Bf16>& x,
                               kernels::View<const kernels::Bf16, 1> weight);
// In place, on every head of every row.
[[nodiscard]] Status rotate(const StepTools& tools, const Rows<kernels::Bf16>& x,
                            std::int64_t heads, const RopeRows& rope,
                            kernels::RopeDirection direction);

}  // namespace deepinfer::engine
