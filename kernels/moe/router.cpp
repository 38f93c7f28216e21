// The router: its limits, its definition, and the fast path, which is the same selection in fp32.
//
// softplus and its root are taken in double and rounded once, so that the float does not depend on
// which variant of exp the C library picks for a processor.
#include "kernels/moe/router.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace deepinfer::kernels {
namespace {

constexpr double kLinearAbove = 20.0;  // softplus(v) = v
constexpr double kSmallestSum = 1e-20;

double score_of(double logit) {
  return std::sqrt(logit > kLinearAbove ? logit : std::log1p(std::exp(logit)));
}

// Room for one row.
template <typename Real>
struct RouteBuffers {
  std::vector<Real> scores;  // [experts]
  std::vector<Real> best;    // [top]: biased scores of the chosen
};

// Ids in falling order of score + bias. NaN counts as the lowest score.
template <typename Real>
void choose(const RouteArgs& args, std::int64_t row, RouteBuffers<Real>& buffers) {
  const std::int64_t top = args.ids.extent(1);
  std::int32_t* ids = &args.ids(row, 0);
  Real* best = buffers.best.data();
  std::int64_t count = 0;
  for (std::int64_t e = 0; e < args.logits.extent(1); ++e) {
    Real biased = buffers.scores[static_cast<std::size_t>(e)] + static_cast<Real>(args.bias(e));
    if (std::isnan(biased)) biased = -std::numeric_limits<Real>::infinity();
    if (count == top && !(biased > best[top - 1])) continue;
    if (count < top) ++count;
    std::int64_t at = count - 1;
    for (; at > 0 && biased > best[at - 1]; --at) {
      best[at] = best[at - 1];
      ids[at] = ids[at - 1];
    }
    best[at] = biased;
    ids[at] = static_cast<std::int32_t>(e);
  }
}

template <typename Real>
void route_row(const RouteArgs& args, std::int64_t row, RouteBuffers<Real>& buffers) {
  for (std::int64_t e = 0; e < args.logits.extent(1); ++e) {
    const Real logit = static_cast<Real>(args.logits(row, e)) / static_cast<Real>(args.temperature);
    buffers.scores[static_cast<std::size_t>(e)] =
        static_cast<Real>(score_of(static_cast<double>(logit)));
  }
  choose(args, row, buffers);

  const std::int64_t top = args.ids.extent(1);
  Real sum{0};
  for (std::int64_t i = 0; i < top; ++i) {
    sum += buffers.scores[static_cast<std::size_t>(args.ids(row, i))];
  }
  sum += static_cast<Real>(kSmallestSum);
  for (std::int64_t i = 0; i < top; ++i) {
    const Real score = buffers.scores[static_cast<std::size_t>(args.ids(row, i))];
    args.weights(row, i) = static_cast<float>(score / sum * static_cast<Real>(args.factor));
  }
}

template <typename Real>
void route_rows(const RouteArgs& args, std::int64_t begin, std::int64_t end) {
  RouteBuffers<Real> buffers{
      .scores = std::vector<Real>(static_cast<std::size_t>(args.logits.extent(1))),
      .best = std::vector<Real>(static_cast<std::size_t>(args.ids.extent(1)))};
  for (std::int64_t row = begin; row < end; ++row) route_row(args, row, buffers);
}

}  // namespace

Status route_limits(const RouteArgs& args) {
  const std::int64_t rows = args.logits.extent(0);
  const std::int64_t experts = args.logits.extent(1);
  const std::int64_t top = args.ids.extent(1);
  if (args.bias.extent(0) != experts || args.ids.extent(0) != rows ||
      args.weights.extent(0) != rows || args.weights.extent(1) != top) {
    return fail(ErrorCode::kInvalidArgument, "route: shapes of logits, ids and weights disagree");
  }
  if (top <= 0 || top > experts) {
    return fail(ErrorCode::kInvalidArgument,
                "route: " + std::to_string(top) + " of " + std::to_string(experts) + " experts");
  }
  return Done{};
}

Status route_reference(const RouteArgs& args) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, route_limits(args));

  route_rows<double>(args, 0, args.logits.extent(0));
  return Done{};
}

Status route_cpu(const RouteArgs& args, Workers& workers) {
  DEEPINFER_TRY([[maybe_unused]] const Done checked, route_limits(args));

  workers.for_ranges(args.logits.extent(0), [&](std::int64_t begin, std::int64_t end, int) {
    route_rows<float>(args, begin, end);
  });
  return Done{};
}

}  // namespace deepinfer::kernels
