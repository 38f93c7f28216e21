// The released tokenizer and configuration, carried inside the library: what a generated checkpoint
// needs besides its weights.
//
// Threads:  any thread. Lifetime: the program's.
// Source:   assets/tokenizer.json.gz, assets/config.json, linked in by assets.S
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace deepinfer::engine {

[[nodiscard]] std::span<const std::uint8_t> released_tokenizer_gz();
// tokenizer.json; kInternal when the linked data does not unpack.
[[nodiscard]] Result<std::string> released_tokenizer();
[[nodiscard]] std::string_view released_config();

}  // namespace deepinfer::engine
