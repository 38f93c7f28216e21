// The choices of a response and their logprobs, in OpenAI's shapes.
//
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <string>

#include <deepinfer/engine.h>
#include <nlohmann/json.hpp>

namespace deepinfer::cli {

struct RecordContext;

// One element of `choices`.
[[nodiscard]] nlohmann::ordered_json choice_object(const RecordContext& context,
                                                   const Choice& choice, std::size_t index);

// On one line; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string to_text(const nlohmann::ordered_json& value);

}  // namespace deepinfer::cli
