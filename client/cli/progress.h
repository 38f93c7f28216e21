// How far a batch has come: a bar on a terminal, plain lines elsewhere, or nothing.
//
// Units:    requests; tokens per second of computing; wall time
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include <deepinfer/engine.h>

#include "base/clock.h"
#include "config/problem.h"

namespace deepinfer::cli {

struct ProgressFacts {
  std::int64_t total = 0;    // requests
  std::int64_t done = 0;     // with a record, those of earlier runs included
  std::int64_t failed = 0;   // of done
  std::int64_t resumed = 0;  // of done, from earlier runs
  EngineStats engine;
};

// Tokens per second of the steps that computed them; 0 before there are any.
[[nodiscard]] double prefill_rate(const EngineStats& stats);
[[nodiscard]] double decode_rate(const EngineStats& stats);

// "12 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string spoken_time(std::chrono::seconds time);
// "12/40 requests, 1 failed, prefill 830 tokens/s, decode 52 tokens/s, 20 s left".
[[nodiscard]] std::string progress_text(const ProgressFacts& facts, std::chrono::nanoseconds since);

class Progress {
 public:
  // `bar`: the stream is a terminal and a bar is wanted.
  enum class Style : std::uint8_t { kBar, kPlain, kNone };
  Progress(std::ostream& err, const Clock& clock, Style style);

  // Whether facts are shown at all, and whether it is time for it: they may cost something to get.
  [[nodiscard]] bool is_shown() const { return style_ != Style::kNone; }
  [[nodiscard]] bool is_due() const { return is_shown() && clock_.now() >= next_; }

  // Shows the facts when it is time for it.
  void update(const ProgressFacts& facts);
  // Shows them a last time and leaves the cursor on a fresh line.
  void finish(const ProgressFacts& facts);
  // A line of its own: information, or (whatever the style) a warning.
  void say(const std::string& text);
  void warn(const config::Problem& problem);

 private:
  void show(const ProgressFacts& facts);
  void leave_bar();

  std::ostream& err_;
  const Clock& clock_;
  Style style_;
  Clock::TimePoint start_;
  Clock::TimePoint next_;
  bool has_bar_ = false;  // the cursor stands behind one
};

}  // namespace deepinfer::cli
