// The known name that a mistyped one was probably meant to be.
//
// Cost:     one edit distance for each candidate
// Threads:  pure function
#pragma once

#include <span>
#include <string_view>

namespace deepinfer::config {

// Empty when no candidate is near: at most a third of the name may differ, two letters at least.
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       std::span<const std::string_view> candidates);

}  // namespace deepinfer::config
