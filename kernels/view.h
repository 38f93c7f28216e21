// The array view that every kernel entry point takes: pointer and extents, never ownership.
//
// View<const float, 2> x;   x(row, col)   x.extent(0)   x.data()
//
// The last dimension is contiguous (row-major). Extents are counts of elements and are signed, so
// that a difference of two of them is a number and not a wrap-around.
//
// Threads:  a plain value, usable on host and device; what it points at has its own rules.
// Errors:   none; an index is the caller's duty, and debug builds check it.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define DEEPINFER_HOST_DEVICE __host__ __device__
#else
#define DEEPINFER_HOST_DEVICE
#endif

namespace deepinfer::kernels {

template <typename T, std::size_t Rank>
class View {
 public:
  // No elements; every extent is 0.
  DEEPINFER_HOST_DEVICE View() : data_(nullptr), extents_{} {}

  template <typename... Extents>
  requires(sizeof...(Extents) == Rank) DEEPINFER_HOST_DEVICE
      explicit View(T* data, Extents... extents)
      : data_(data), extents_{static_cast<std::int64_t>(extents)...} {}

  template <typename... Indices>
  requires(sizeof...(Indices) == Rank) DEEPINFER_HOST_DEVICE T& operator()(
      Indices... indices) const {
    const std::int64_t index[] = {static_cast<std::int64_t>(indices)...};
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < Rank; ++d) {
      assert(index[d] >= 0 && index[d] < extents_[d]);
      offset = offset * extents_[d] + index[d];
    }
    return data_[offset];
  }

  [[nodiscard]] DEEPINFER_HOST_DEVICE std::int64_t extent(std::size_t dimension) const {
    return extents_[dimension];
  }
  [[nodiscard]] DEEPINFER_HOST_DEVICE T* data() const { return data_; }

 private:
  T* data_;                     // not owned
  std::int64_t extents_[Rank];  // a C array: std::array's members are host-only under nvcc
};

}  // namespace deepinfer::kernels
