#include "daemon/log_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "config/utf8.h"

namespace deepinfer::daemon {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kCut = "\xE2\x80\xA6";          // an ellipsis, U+2026

bool is_continuation(char letter) { return (static_cast<unsigned char>(letter) & 0xC0U) == 0x80U; }

// Bytes of the character that `text` begins with; 0 when it begins with none.
std::size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t size = 1;
  if (lead >= 0xC0) size = 2;
  if (lead >= 0xE0) size = 3;
  if (lead >= 0xF0) size = 4;
  return size <= text.size() && config::is_utf8(text.substr(0, size)) ? size : 0;
}

// Of a character in UTF-8.
std::uint32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead;
  std::uint32_t code = lead & (0x7FU >> character.size());
  for (const char letter : character.substr(1)) {
    code = (code << 6U) | (static_cast<unsigned char>(letter) & 0x3FU);
  }
  return code;
}

// Controls, and the marks that break a line or turn its direction.
bool is_unseen(std::uint32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  const bool is_mark = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
                       (code >= 0x2060 && code <= 0x2069) || code == 0x061C || code == 0xFEFF;
  return is_control || is_mark;
}

void append_code(std::string& out, std::uint32_t code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[(code >> shift) & 15U];
}

void append_character(std::string& out, std::string_view character) {
  const std::uint32_t code = code_point(character);
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\t') {
    out += "\\t";
  } else if (is_unseen(code)) {
    append_code(out, code);
  } else {
    out += character;
  }
}

// Splits `text` into characters; `quote` says whether quotes and backslashes are escaped too.
void append(std::string& out, std::string_view text, bool quote) {
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    if (size == 0) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    if (quote && (text.front() == '"' || text.front() == '\\')) out += '\\';
    append_character(out, text.substr(0, size));
    text.remove_prefix(size);
  }
}

void append_quoted(std::string& out, std::string_view text, bool is_cut) {
  out += '"';
  append_escaped(out, text);
  if (is_cut) out += kCut;
  out += '"';
}

// What can stand in a text line without quotes: it reads as one word.
bool is_word(std::string_view text) {
  static constexpr std::string_view kSafe = "-_.:/@+,%";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    return is_letter || (letter >= '0' && letter <= '9') ||
           kSafe.find(letter) != std::string_view::npos;
  });
}

template <typename Number>
void append_number(std::string& out, Number number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// Appends the value that it is called with.
struct ValueWriter {
  std::string& out;
  config::LogFormat format;

  void operator()(std::string_view text) const {
    const std::string_view shown = first_bytes(text, Log::kMaxTextBytes);
    const bool is_cut = shown.size() < text.size();
    if (format == config::LogFormat::kText && !is_cut && is_word(shown)) {
      out += shown;
    } else {
      append_quoted(out, shown, is_cut);
    }
  }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(double value) const {
    if (std::isfinite(value)) return append_number(out, value);
    const std::string_view infinite = value < 0 ? "-inf" : "inf";
    (*this)(std::isnan(value) ? std::string_view("nan") : infinite);
  }
  void operator()(std::int64_t value) const { append_number(out, value); }
  void operator()(std::uint64_t value) const { append_number(out, value); }
};

void append_field(std::string& out, config::LogFormat format, const Field& field) {
  if (format == config::LogFormat::kJson) {
    out += ",\"";
    append_escaped(out, field.name);
    out += "\":";
  } else {
    out += ' ';
    append_escaped(out, field.name);
    out += '=';
  }
  std::visit(ValueWriter{out, format}, field.value);
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) { append(out, text, /*quote=*/true); }

std::string_view first_bytes(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  std::size_t size = most_bytes;
  // A character has four bytes at most; what has more is none.
  while (size > 0 && most_bytes - size < 3 && is_continuation(text[size])) --size;
  return text.substr(0, is_continuation(text[size]) ? most_bytes : size);
}

std::string log_line(config::LogFormat format, std::string_view message,
                     std::span<const Field> fields, std::int64_t suppressed) {
  std::string out;
  if (format == config::LogFormat::kJson) {
    out = "\"message\":";
    append_quoted(out, message, /*is_cut=*/false);
  } else {
    append(out, message, /*quote=*/false);
  }
  for (const Field& field : fields) append_field(out, format, field);
  if (suppressed > 0) append_field(out, format, Field("suppressed", suppressed));
  return out;
}

}  // namespace deepinfer::daemon
