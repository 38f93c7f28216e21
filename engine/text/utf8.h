// Cuts bytes into UTF-8 characters, as the Unicode standard recommends (maximal subparts).
//
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deepinfer::engine {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

enum class Utf8Kind : std::uint8_t {
  kCharacter,   // `size` bytes are one character
  kBroken,      // `size` bytes can never become one: one U+FFFD
  kIncomplete,  // all `size` bytes that are left may begin one
};

struct Utf8Step {
  Utf8Kind kind = Utf8Kind::kCharacter;
  std::size_t size = 0;
};

// What `bytes`, which is not empty, begins with.
[[nodiscard]] Utf8Step first_step(std::string_view bytes);

// Appends the text of `bytes` to `text`, U+FFFD for what is broken; returns the incomplete rest.
[[nodiscard]] std::string_view append_characters(std::string_view bytes, std::string& text);

}  // namespace deepinfer::engine
