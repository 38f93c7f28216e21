// What must hold for any bytes that are given to the checkpoint parsers as a header or a config.json.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepinfer::test {

// Every tensor lies inside the bytes and has the size of its shape; what is not sound is reported.
[[nodiscard]] bool header_is_handled(const std::uint8_t* data, std::size_t size);

// A shape without problems can be turned into a list of tensors; else there are problems in words.
[[nodiscard]] bool config_is_handled(const std::uint8_t* data, std::size_t size);

}  // namespace deepinfer::test
