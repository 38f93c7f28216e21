// The text of a log line behind time and level, and what makes foreign text safe to write there.
//
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/options.h"
#include "daemon/log.h"

namespace deepinfer::daemon {

// message key=value key="a value"; or as members of a JSON object: "message":"...","key":"a value".
// `suppressed` is one more field unless it is 0.
[[nodiscard]] std::string log_line(config::LogFormat format, std::string_view message,
                                   std::span<const Field> fields, std::int64_t suppressed);

// Appends `text` as the inside of a JSON string. Beyond what JSON asks for, what a terminal obeys or a
// reader does not see (DEL, C1, line and direction marks) is escaped too; bytes that are not UTF-8 become
// U+FFFD.
void append_escaped(std::string& out, std::string_view text);

// The longest beginning within `most_bytes` that does not cut a character.
[[nodiscard]] std::string_view first_bytes(std::string_view text, std::size_t most_bytes);

}  // namespace deepinfer::daemon
