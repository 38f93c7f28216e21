// Finds the first stop string in text that arrives in pieces, and holds back what may begin one.
//
// Threads:  confined to one thread.
// Cost:     O(piece * stop strings); holds back at most the longest stop string minus one byte, and
//           nothing when the stop string is part of the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deepinfer::engine {

class StopStrings {
 public:
  struct Outcome {
    std::string text;      // safe to deliver
    bool stopped = false;  // a stop string ended the text; `stop` names it
    std::string stop;
  };

  // Empty strings are not allowed. keep_stop: the stop string is part of the text.
  StopStrings(std::vector<std::string> stops, bool keep_stop);

  // The earliest end of a stop string wins; of those that end together, the longest. The text has
  // ended with `stopped`: push nothing more.
  [[nodiscard]] Outcome push(std::string_view piece);
  // What was held back, when the sequence ends without a stop string.
  [[nodiscard]] std::string finish();

 private:
  // Follows one stop string byte by byte (Knuth, Morris, Pratt).
  struct Matcher {
    std::string stop;
    std::vector<std::size_t> fallback;
    std::size_t matched = 0;  // the longest prefix of `stop` that ends the text so far
    void advance(char byte);
  };

  std::vector<Matcher> matchers_;
  bool keep_stop_;
  std::string held_;
};

}  // namespace deepinfer::engine
