// What must hold for every text that is given to the parser of batch lines.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepinfer::cli {

// Parses the bytes as a line: either there are problems, each with a known code and a one-line
// record, or there is a request within the documented ranges.
[[nodiscard]] bool line_is_handled(const std::uint8_t* data, std::size_t size);

}  // namespace deepinfer::cli
