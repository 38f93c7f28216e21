// Deterministic damage to a text: what a fuzzer would try first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace deepinfer::test {

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  // One to four changes.
  [[nodiscard]] std::string mutate(std::string text) {
    for (std::size_t change = below(4) + 1; change > 0; --change) apply(text);
    return text;
  }

  [[nodiscard]] std::size_t below(std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(random_() % bound);
  }

 private:
  void apply(std::string& text) {
    const std::size_t at = below(text.size());
    const std::size_t length = below(text.size() - at) % 40;
    switch (below(6)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(below(256));
        return;
      case 1:
        text.erase(at, length);
        return;
      case 2:
        text.insert(at, text.substr(below(text.size()), length));
        return;
      case 3:
        text.resize(at);
        return;
      case 4:
        text.insert(at, std::string(token()));
        return;
      default:
        replace_number(text, at);
        return;
    }
  }

  // The next number behind `at` becomes another one.
  void replace_number(std::string& text, std::size_t at) {
    const std::size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const std::size_t end = text.find_first_not_of("0123456789", begin);
    text.replace(begin, (end == std::string::npos ? text.size() : end) - begin,
                 std::string(token()));
  }

  std::string_view token() {
    constexpr std::array<std::string_view, 20> kTokens = {"0",
                                                          "-1",
                                                          "1",
                                                          "2",
                                                          "32",
                                                          "65536",
                                                          "9223372036854775807",
                                                          "9223372036854775808",
                                                          "18446744073709551616",
                                                          "1e999",
                                                          "1.5",
                                                          "null",
                                                          "[]",
                                                          "{}",
                                                          "\"\"",
                                                          "\"BF16\"",
                                                          "true",
                                                          ",",
                                                          "[[[[[[[[",
                                                          "\xef\xbb\xbf"};
    return kTokens[below(kTokens.size())];
  }

  std::mt19937 random_;
};

}  // namespace deepinfer::test
