// The limits of the hyper-connections and their definitions in plain C++ (fp64 sums).
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/mix/hyper_connection.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int64_t kCopies = 4;
constexpr std::int64_t kMixes = (2 + kCopies) * kCopies;
constexpr std::int64_t kPartialSums = 16;

Status stream_limits(const char* op, std::int64_t copies, std::int64_t hidden) {
  if (copies == kCopies && hidden > 0 && hidden % kPartialSums == 0) return Done{};
  return fail(ErrorCode::kInvalidArgument, std::string(op) + ": " + std::to_string(copies) +
                                               " copies of " + std::to_string(hidden));
}

Status disagree(const char* op) {
  return fail(ErrorCode::kInvalidArgument, std::string(op) + ": shapes disagree");
}

// m of one row.
void mixes_of(const MixArgs& args, std::int64_t row, float* mixes) {
  const std::int64_t count = args.h.extent(1) * args.h.extent(2);
  const Bf16* u = &args.h(row, 0, 0);
  double squares = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    squares += static_cast<double>(to_float(u[i])) * static_cast<double>(to_float(u[i]));
  }
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(count) +
                                       static_cast<double>(args.norm_epsilon));
  for (std::int64_t m = 0; m < kMixes; ++m) {
    double dot = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      dot += static_cast<double>(args.fn(m, i)) * static_cast<double>(to_float(u[i]));
    }
    mixes[m] = static_cast<float>(dot * scale);
  }
}

}  // namespace

Status mix_limits(const MixArgs& args) {
  const std::int64_t rows = args.h.extent(0);
  const std::int64_t copies = args.h.extent(1);
  const std::int64_t hidden = args.h.extent(2);
  DEEPINFER_TRY([[maybe_unused]] const Done checked, stream_limits("mix", copies, hidden));
  if (args.fn.extent(0) != kMixes || args.fn.extent(1) != copies * hidden) return disagree("mix");
  return mix_split_limits({.mixes = View<const float, 2>(nullptr, rows, kMixes),
                           .scale = args.scale,
                           .base = args.base,
                           .pre = args.pre,
                           .post = args.post,
                           .comb = args.comb,
                           .iterations = args.iterations,
                           .epsilon = args.epsilon});
}

Status mix_reference(const MixArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, mix_limits(args));

  const std::int64_t rows = args.h.extent(0);
  std::vector<float> mixes(static_cast<std::size_t>(rows * kMixes));
  for (std::int64_t row = 0; row < rows; ++row) mixes_of(args, row, mixes.data() + row * kMixes);
  return mix_split_reference({.mixes = View<const float, 2>(mixes.data(), rows, kMixes),
                              .scale = args.scale,
                              .base = args.base,
                              .pre = args.pre,
                              .post = args.post,
                              .comb = args.comb,
                              .iterations = args.iterations,
                              .epsilon = args.epsilon});
}

Status collapse_limits(const CollapseArgs& args) {
  const std::int64_t rows = args.h.extent(0);
  const std::int64_t copies = args.h.extent(1);
  const std::int64_t hidden = args.h.extent(2);
  DEEPINFER_TRY([[maybe_unused]] const Done checked, stream_limits("collapse", copies, hidden));
  if (args.pre.extent(0) != rows || args.pre.extent(1) != copies || args.x.extent(0) != rows ||
      args.x.extent(1) != hidden) {
    return disagree("collapse");
  }
  return Done{};
}

Status collapse_reference(const CollapseArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, collapse_limits(args));

  for (std::int64_t row = 0; row < args.h.extent(0); ++row) {
    for (std::int64_t i = 0; i < args.h.extent(2); ++i) {
      double sum = 0.0;
      for (std::int64_t c = 0; c < kCopies; ++c) {
        sum += static_cast<double>(args.pre(row, c)) *
               static_cast<double>(to_float(args.h(row, c, i)));
      }
      args.x(row, i) = to_bf16(static_cast<float>(sum));
    }
  }
  return Done{};
}

Status stream_update_limits(const StreamUpdateArgs& args) {
  const std::int64_t rows = args.h.extent(0);
  const std::int64_t copies = args.h.extent(1);
  const std::int64_t hidden = args.h.extent(2);
  DEEPINFER_TRY([[maybe_unused]] const Done checked,
                stream_limits("stream_update", copies, hidden));
  if (args.y.extent(0) != rows || args.y.extent(1) != hidden || args.post.extent(0) != rows ||
      args.post.extent(1) != copies || args.comb.extent(0) != rows ||
      args.comb.extent(1) != copies || args.comb.extent(2) != copies) {
    return disagree("stream_update");
  }
  return Done{};
}

Status stream_update_reference(const StreamUpdateArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, stream_update_limits(args));

  for (std::int64_t row = 0; row < args.h.extent(0); ++row) {
    for (std::int64_t i = 0; i < args.h.extent(2); ++i) {
      double updated[kCopies];
      for (std::int64_t k = 0; k < kCopies; ++k) {
        updated[k] =
            static_cast<double>(args.post(row, k)) * static_cast<double>(to_float(args.y(row, i)));
        for (std::int64_t j = 0; j < kCopies; ++j) {
          updated[k] += static_cast<double>(args.comb(row, j, k)) *
                        static_cast<double>(to_float(args.h(row, j, i)));
        }
      }
      for (std::int64_t k = 0; k < kCopies; ++k) {
        args.h(row, k, i) = to_bf16(static_cast<float>(updated[k]));
      }
    }
  }
  return Done{};
}

}  // namespace deepinfer::kernels
