// Lists of words in one string, separated by |: "auto|cpu|cuda".
//
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace deepinfer::config {

// The place of `word` in the list; the words of an enum stand in the order of its enumerators.
[[nodiscard]] std::optional<std::size_t> index_of_word(std::string_view list,
                                                       std::string_view word);
// Empty past the end.
[[nodiscard]] std::string_view word_at(std::string_view list, std::size_t index);

[[nodiscard]] inline bool has_word(std::string_view list, std::string_view word) {
  return index_of_word(list, word).has_value();
}

}  // namespace deepinfer::config
