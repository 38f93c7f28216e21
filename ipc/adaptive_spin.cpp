#include "ipc/adaptive_spin.h"

#include <algorithm>
#include <utility>

#include <sched.h>

namespace deepinfer::ipc {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint32_t kWaitsBetweenTries = 64;
constexpr nanoseconds kShortest{1000};  // less is not worth reading the clock
constexpr int kAveraged = 8;            // a wait moves the average by an eighth
constexpr int kLongestCounted = 4;  // times the limit: a pause of hours is not remembered for long

}  // namespace

nanoseconds AdaptiveSpin::next(nanoseconds limit, int processors) {
  limit_ = limit;
  budget_ = nanoseconds{0};
  is_try_ = false;
  if (limit < kShortest || processors < 2) return budget_;
  wanted_ = std::min(wanted_, limit);
  if (average_ <= limit && wanted_ >= kShortest) {
    since_try_ = 0;
    budget_ = wanted_;
  } else if (++since_try_ >= kWaitsBetweenTries) {
    since_try_ = 0;
    is_try_ = true;
    budget_ = limit;
  }
  return budget_;
}

void AdaptiveSpin::learn(nanoseconds waited) {
  if (limit_ < kShortest) return;
  const nanoseconds counted = std::min(waited, limit_ * kLongestCounted);
  const bool has_paid = budget_ > nanoseconds{0} && waited <= budget_;
  if (has_paid && is_try_) {
    // What was learnt from sleeping does not hold any more.
    average_ = counted;
    wanted_ = limit_;
    return;
  }
  average_ += (counted - average_) / kAveraged;
  if (budget_ == nanoseconds{0}) return;
  wanted_ = has_paid ? std::min(limit_, wanted_ * 2) : wanted_ / 2;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 2;  // more than a cpu_set_t can tell
  return CPU_COUNT(&set);
}

}  // namespace deepinfer::ipc
