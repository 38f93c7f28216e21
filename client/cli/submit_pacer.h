// How many requests to have submitted at once, where the other side may refuse for want of room.
//
// A refusal lowers the number to what was accepted and begins a pause, which doubles from refusal to
// refusal; what ends makes room, ends the pause, and raises the number again step by step.
// Threads:  confined to one thread
#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace deepinfer::cli {

class SubmitPacer {
 public:
  // `most` is never exceeded.
  SubmitPacer(std::size_t most, const Clock& clock);

  [[nodiscard]] bool may_submit(std::size_t in_flight) const;
  // How long until the pause is over; zero when there is none.
  [[nodiscard]] std::chrono::nanoseconds pause_left() const;

  // One request was refused; `in_flight` others may be accepted.
  void refused(std::size_t in_flight);
  // One that was accepted has ended.
  void ended();

 private:
  const Clock& clock_;
  std::size_t most_;
  std::size_t limit_;
  std::size_t ended_ = 0;  // since the limit last changed
  std::chrono::milliseconds next_pause_;
  Clock::TimePoint resume_at_;
};

}  // namespace deepinfer::cli
