// What must hold for every text that is given as a configuration file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepinfer::config {

// Every problem has its three parts and a place within the text; without problems, what is printed of the
// options reads back as the same options.
[[nodiscard]] bool toml_is_handled(const std::uint8_t* data, std::size_t size);

}  // namespace deepinfer::config
