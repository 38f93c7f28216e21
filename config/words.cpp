#include "config/words.h"

#include <algorithm>

namespace deepinfer::config {
namespace {

// Takes the first word off the list.
std::string_view take_word(std::string_view& list) {
  const std::size_t bar = std::min(list.find('|'), list.size());
  const std::string_view word = list.substr(0, bar);
  list.remove_prefix(std::min(bar + 1, list.size()));
  return word;
}

}  // namespace

std::optional<std::size_t> index_of_word(std::string_view list, std::string_view word) {
  for (std::size_t index = 0; !list.empty(); ++index) {
    if (take_word(list) == word) return index;
  }
  return std::nullopt;
}

std::string_view word_at(std::string_view list, std::size_t index) {
  for (; !list.empty(); --index) {
    const std::string_view word = take_word(list);
    if (index == 0) return word;
  }
  return {};
}

}  // namespace deepinfer::config
