#include "engine/text/stop_strings.h"

#include <algorithm>
#include <utility>

namespace deepinfer::engine {
namespace {

// fallback[n]: the longest proper prefix of the first n bytes that also ends them.
std::vector<std::size_t> fallback_of(std::string_view stop) {
  std::vector<std::size_t> fallback(stop.size() + 1, 0);
  std::size_t matched = 0;
  for (std::size_t i = 1; i < stop.size(); ++i) {
    while (matched > 0 && stop[i] != stop[matched]) matched = fallback[matched];
    if (stop[i] == stop[matched]) ++matched;
    fallback[i + 1] = matched;
  }
  return fallback;
}

}  // namespace

void StopStrings::Matcher::advance(char byte) {
  while (matched > 0 && stop[matched] != byte) matched = fallback[matched];
  if (stop[matched] == byte) ++matched;
}

StopStrings::StopStrings(std::vector<std::string> stops, bool keep_stop) : keep_stop_(keep_stop) {
  for (std::string& stop : stops) {
    std::vector<std::size_t> fallback = fallback_of(stop);
    matchers_.push_back({.stop = std::move(stop), .fallback = std::move(fallback)});
  }
}

StopStrings::Outcome StopStrings::push(std::string_view piece) {
  std::string text = std::exchange(held_, {});
  for (const char byte : piece) {
    text += byte;
    const Matcher* ended = nullptr;
    for (Matcher& matcher : matchers_) {
      matcher.advance(byte);
      const bool is_whole = matcher.matched == matcher.stop.size();
      if (is_whole && (ended == nullptr || matcher.stop.size() > ended->stop.size())) {
        ended = &matcher;
      }
    }
    if (ended != nullptr) {
      if (!keep_stop_) text.resize(text.size() - ended->stop.size());
      return {.text = std::move(text), .stopped = true, .stop = ended->stop};
    }
  }
  // A stop string that is kept is delivered in any case: nothing has to wait for its end.
  std::size_t hold = 0;
  for (const Matcher& matcher : matchers_) hold = std::max(hold, matcher.matched);
  if (keep_stop_) hold = 0;
  held_ = text.substr(text.size() - hold);
  text.resize(text.size() - hold);
  return {.text = std::move(text), .stopped = false, .stop = {}};
}

std::string StopStrings::finish() {
  for (Matcher& matcher : matchers_) matcher.matched = 0;
  return std::exchange(held_, {});
}

}  // namespace deepinfer::engine
