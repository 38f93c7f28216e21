// The spellings of values in the environment, in flags and in the configuration file.
//
// Errors:   kInvalidArgument with what was expected; the caller adds which setting it was
// Threads:  pure functions
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace deepinfer::config {

// 0/1, true/false, yes/no, on/off in any case.
[[nodiscard]] Result<bool> parse_boolean(std::string_view text);
// Decimal, with an optional minus; the whole text.
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view text);
// Finite.
[[nodiscard]] Result<double> parse_number(std::string_view text);
// Bytes: a whole number, alone or followed by KiB, MiB or GiB ("10 GiB", "512MiB").
[[nodiscard]] Result<std::int64_t> parse_size(std::string_view text);
// A number followed by ms, s, min or h ("200 ms", "90min", "1.5h"); not negative.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);
// The same, or a number alone, which is seconds.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration_or_seconds(std::string_view text);
// Permission bits: octal digits, as "0660" or "0o660", at most 0777.
[[nodiscard]] Result<std::uint32_t> parse_mode(std::string_view text);
// "a, b" -> "a" and "b", views of `text`; blank text is no item, an item is never blank.
[[nodiscard]] Result<std::vector<std::string_view>> split_list(std::string_view text);

}  // namespace deepinfer::config
