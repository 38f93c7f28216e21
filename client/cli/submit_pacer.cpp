#include "client/cli/submit_pacer.h"

#include <algorithm>

namespace deepinfer::cli {
namespace {

// Short beside any real request, long enough to ask seldom.
constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{2000};

}  // namespace

SubmitPacer::SubmitPacer(std::size_t most, const Clock& clock)
    : clock_(clock),
      most_(std::max<std::size_t>(most, 1)),
      limit_(most_),
      next_pause_(kFirstPause),
      resume_at_(clock.now()) {}

bool SubmitPacer::may_submit(std::size_t in_flight) const {
  return in_flight < limit_ && clock_.now() >= resume_at_;
}

std::chrono::nanoseconds SubmitPacer::pause_left() const {
  return std::max(std::chrono::nanoseconds(0), resume_at_ - clock_.now());
}

void SubmitPacer::refused(std::size_t in_flight) {
  limit_ = std::clamp<std::size_t>(in_flight, 1, limit_);
  ended_ = 0;
  // Refusals that were under way when the first of them came belong to it.
  if (clock_.now() < resume_at_) return;
  resume_at_ = clock_.now() + next_pause_;
  next_pause_ = std::min(2 * next_pause_, kLongestPause);
}

void SubmitPacer::ended() {
  next_pause_ = kFirstPause;
  resume_at_ = clock_.now();
  if (limit_ == most_ || ++ended_ < limit_) return;
  ended_ = 0;
  // A quarter more: of the next window, so many may be refused.
  limit_ = std::min(most_, limit_ + std::max<std::size_t>(limit_ / 4, 1));
}

}  // namespace deepinfer::cli
