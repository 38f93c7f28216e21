// From the 24 mixes of a token to its coefficients: the definition, and the fast path, which is the
// same few lines in fp32.
//
// Exponentials are taken in double and rounded once, so that the float does not depend on which
// variant of exp the C library picks for a processor.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/mix/hyper_connection.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kCopies = 4;
constexpr std::int64_t kMixes = (2 + kCopies) * kCopies;

template <typename Real>
Real exp_of(Real x) {
  return static_cast<Real>(std::exp(static_cast<double>(x)));
}

template <typename Real>
Real sigmoid(Real x) {
  return Real{1} / (Real{1} + exp_of(-x));
}

// A row of Z to its softmax.
template <typename Real>
void softmax_row(Real* row) {
  const Real largest = *std::max_element(row, row + kCopies);
  Real sum{0};
  for (std::int64_t k = 0; k < kCopies; ++k) {
    row[k] = exp_of(row[k] - largest);
    sum += row[k];
  }
  for (std::int64_t k = 0; k < kCopies; ++k) row[k] /= sum;
}

template <typename Real>
void normalise_columns(Real (&b)[kCopies][kCopies], Real epsilon) {
  Real sums[kCopies] = {};
  for (const auto& row : b) {
    for (std::int64_t k = 0; k < kCopies; ++k) sums[k] += row[k];
  }
  for (auto& row : b) {
    for (std::int64_t k = 0; k < kCopies; ++k) row[k] /= sums[k] + epsilon;
  }
}

template <typename Real>
void normalise_rows(Real (&b)[kCopies][kCopies], Real epsilon) {
  for (auto& row : b) {
    Real sum{0};
    for (const Real value : row) sum += value;
    for (Real& value : row) value /= sum + epsilon;
  }
}

template <typename Real>
void split_row(const MixSplit& args, std::int64_t row) {
  const auto epsilon = static_cast<Real>(args.epsilon);
  const auto scaled = [&](std::int64_t i, std::int64_t part) {
    return static_cast<Real>(args.mixes(row, i)) * static_cast<Real>(args.scale(part)) +
           static_cast<Real>(args.base(i));
  };
  Real b[kCopies][kCopies];
  for (std::int64_t c = 0; c < kCopies; ++c) {
    args.pre(row, c) = static_cast<float>(sigmoid(scaled(c, 0)) + epsilon);
    args.post(row, c) = static_cast<float>(Real{2} * sigmoid(scaled(kCopies + c, 1)));
    for (std::int64_t k = 0; k < kCopies; ++k) b[c][k] = scaled((2 + c) * kCopies + k, 2);
    softmax_row(b[c]);
    for (Real& value : b[c]) value += epsilon;
  }

  normalise_columns(b, epsilon);
  for (std::int64_t i = 1; i < args.iterations; ++i) {
    normalise_rows(b, epsilon);
    normalise_columns(b, epsilon);
  }
  for (std::int64_t j = 0; j < kCopies; ++j) {
    for (std::int64_t k = 0; k < kCopies; ++k) args.comb(row, j, k) = static_cast<float>(b[j][k]);
  }
}

}  // namespace

Status mix_split_limits(const MixSplit& args) {
  const std::int64_t rows = args.mixes.extent(0);
  if (args.mixes.extent(1) != kMixes || args.base.extent(0) != kMixes ||
      args.scale.extent(0) != 3) {
    return fail(ErrorCode::kInvalidArgument,
                "mix_split: a row has " + std::to_string(args.mixes.extent(1)) + " mixes");
  }
  if (args.pre.extent(0) != rows || args.post.extent(0) != rows || args.comb.extent(0) != rows ||
      args.pre.extent(1) != kCopies || args.post.extent(1) != kCopies ||
      args.comb.extent(1) != kCopies || args.comb.extent(2) != kCopies) {
    return fail(ErrorCode::kInvalidArgument, "mix_split: shapes of the coefficients disagree");
  }
  if (args.iterations < 1) {
    return fail(ErrorCode::kInvalidArgument,
                "mix_split: iterations is " + std::to_string(args.iterations));
  }
  return Done{};
}

Status mix_split_reference(const MixSplit& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, mix_split_limits(args));

  for (std::int64_t row = 0; row < args.mixes.extent(0); ++row) split_row<double>(args, row);
  return Done{};
}

Status mix_split_cpu(const MixSplit& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, mix_split_limits(args));

  workers.for_ranges(args.mixes.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) split_row<float>(args, row);
  });
  return Done{};
}

}  // namespace deepinfer::kernels
