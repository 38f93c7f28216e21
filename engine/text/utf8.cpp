#include "engine/text/utf8.h"

namespace deepinfer::engine {
namespace {

// What the first byte asks for: how long the character is, and the bounds of the second byte.
struct Lead {
  std::size_t size = 0;  // 0: no character begins so
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {.size = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .low = 0xA0};
  if (byte == 0xED) return {.size = 3, .high = 0x9F};  // no surrogates
  if (byte < 0xF0) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .low = 0x90};
  if (byte < 0xF4) return {.size = 4};
  if (byte == 0xF4) return {.size = 4, .high = 0x8F};  // nothing above U+10FFFF
  return {};
}

}  // namespace

Utf8Step first_step(std::string_view bytes) {
  const Lead lead = lead_of(static_cast<unsigned char>(bytes.front()));
  if (lead.size == 0) return {.kind = Utf8Kind::kBroken, .size = 1};
  for (std::size_t i = 1; i < lead.size; ++i) {
    if (i == bytes.size()) return {.kind = Utf8Kind::kIncomplete, .size = i};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {.kind = Utf8Kind::kBroken, .size = i};
  }
  return {.kind = Utf8Kind::kCharacter, .size = lead.size};
}

std::string_view append_characters(std::string_view bytes, std::string& text) {
  while (!bytes.empty()) {
    const Utf8Step step = first_step(bytes);
    if (step.kind == Utf8Kind::kIncomplete) return bytes;
    const bool is_whole = step.kind == Utf8Kind::kCharacter;
    text += is_whole ? bytes.substr(0, step.size) : kReplacementCharacter;
    bytes.remove_prefix(step.size);
  }
  return bytes;
}

}  // namespace deepinfer::engine
