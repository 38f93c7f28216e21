// Time as a dependency: production passes the real clock, a test one that it moves by hand.
//
// Units:    std::chrono durations since an arbitrary origin; never goes back.
// Threads:  any thread for SteadyClock; ManualClock belongs to one test thread.
#pragma once

#include <chrono>

namespace deepinfer {

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance(std::chrono::nanoseconds step) { now_ += step; }

 private:
  TimePoint now_{};
};

}  // namespace deepinfer
