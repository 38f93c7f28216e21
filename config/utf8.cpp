#include "config/utf8.h"

#include <cstddef>
#include <cstdint>

namespace deepinfer::config {
namespace {

// Of a lead byte: how many bytes follow, and the range of the first of them, where the overlong forms,
// the surrogates and what is above U+10FFFF would begin.
struct Lead {
  std::size_t following = 0;
  std::uint8_t least = 0x80;
  std::uint8_t most = 0xBF;
  bool is_valid = true;
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {0};
  if (byte >= 0xC2 && byte <= 0xDF) return {1};
  if (byte == 0xE0) return {2, 0xA0};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {2};
  if (byte == 0xF0) return {3, 0x90};
  if (byte >= 0xF1 && byte <= 0xF3) return {3};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {.is_valid = false};
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    Lead lead = lead_of(static_cast<std::uint8_t>(text.front()));
    if (!lead.is_valid || text.size() <= lead.following) return false;
    for (std::size_t i = 1; i <= lead.following; ++i) {
      const auto byte = static_cast<std::uint8_t>(text[i]);
      if (byte < lead.least || byte > lead.most) return false;
      lead.least = 0x80;
      lead.most = 0xBF;
    }
    text.remove_prefix(lead.following + 1);
  }
  return true;
}

}  // namespace deepinfer::config
