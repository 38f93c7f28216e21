#include "client/cli/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Often enough to feel alive, seldom enough to keep a log short.
constexpr std::chrono::milliseconds kBarInterval{200};
constexpr std::chrono::milliseconds kPlainInterval{5000};
constexpr std::int64_t kBarWidth = 24;

double rate(std::int64_t tokens, nanoseconds time) {
  const double elapsed = duration<double>(time).count();
  return elapsed > 0 ? static_cast<double>(tokens) / elapsed : 0;
}

std::string whole(double value) { return std::to_string(std::llround(value)); }

// From the pace of this run; nothing before its first record.
std::optional<seconds> time_left(const ProgressFacts& facts, nanoseconds since) {
  const std::int64_t done_here = facts.done - facts.resumed;
  if (done_here <= 0) return std::nullopt;
  const double each = duration<double>(since).count() / static_cast<double>(done_here);
  return seconds(std::llround(each * static_cast<double>(facts.total - facts.done)));
}

std::string bar(const ProgressFacts& facts) {
  const std::int64_t filled = facts.total > 0 ? facts.done * kBarWidth / facts.total : kBarWidth;
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(kBarWidth - filled), '.') + "] ";
}

}  // namespace

double prefill_rate(const EngineStats& stats) {
  return rate(stats.prefill_tokens, stats.prefill_time);
}
double decode_rate(const EngineStats& stats) {
  return rate(stats.decode_tokens, stats.decode_time);
}

std::string spoken_time(seconds time) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3600;
  const std::int64_t count = time.count();
  if (count < kMinute) return std::to_string(count) + " s";
  if (count < kHour) {
    return std::to_string(count / kMinute) + " min " + std::to_string(count % kMinute) + " s";
  }
  return std::to_string(count / kHour) + " h " + std::to_string(count % kHour / kMinute) + " min";
}

std::string progress_text(const ProgressFacts& facts, nanoseconds since) {
  std::string text = std::to_string(facts.done) + "/" + std::to_string(facts.total) +
                     " requests, " + std::to_string(facts.failed) + " failed, prefill " +
                     whole(prefill_rate(facts.engine)) + " tokens/s, decode " +
                     whole(decode_rate(facts.engine)) + " tokens/s";
  if (facts.done == facts.total) {
    return text + ", " + spoken_time(std::chrono::duration_cast<seconds>(since));
  }
  if (const auto left = time_left(facts, since)) text += ", " + spoken_time(*left) + " left";
  return text;
}

Progress::Progress(std::ostream& err, const Clock& clock, Style style)
    : err_(err), clock_(clock), style_(style), start_(clock.now()), next_(start_) {}

void Progress::update(const ProgressFacts& facts) {
  if (!is_due()) return;
  show(facts);
  next_ = clock_.now() + (style_ == Style::kBar ? kBarInterval : kPlainInterval);
}

void Progress::finish(const ProgressFacts& facts) {
  if (!is_shown()) return;
  show(facts);
  leave_bar();
}

void Progress::say(const std::string& text) {
  if (!is_shown()) return;
  leave_bar();
  err_ << "deepinfer: " << text << '\n' << std::flush;
}

void Progress::warn(const config::Problem& problem) {
  leave_bar();
  print_warning(err_, problem);
}

void Progress::leave_bar() {
  if (std::exchange(has_bar_, false)) err_ << '\n' << std::flush;
}

void Progress::show(const ProgressFacts& facts) {
  const std::string text = progress_text(facts, clock_.now() - start_);
  if (style_ == Style::kBar) {
    // Back to the first column, and clear what a longer line left.
    err_ << '\r' << bar(facts) << text << "\x1b[K" << std::flush;
    has_bar_ = true;
  } else {
    err_ << "deepinfer: " << text << '\n' << std::flush;
  }
}

}  // namespace deepinfer::cli
