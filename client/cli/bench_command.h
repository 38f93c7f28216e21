// deepinfer bench NAME …: becomes the program deepinfer-bench-NAME.
//
// Threads:  confined to one thread
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "client/cli/command_context.h"

namespace deepinfer::cli {

// Beside the running program, then in the folders of `search_path` (as PATH). Nothing when no
// program of that name can be run.
[[nodiscard]] std::optional<std::filesystem::path> find_program(const std::string& name,
                                                                const std::filesystem::path& beside,
                                                                std::string_view search_path);

// `arguments` from NAME on. Comes back only when there is no such program, with the exit code.
[[nodiscard]] int run_bench(std::span<const std::string> arguments, const CommandContext& context);

}  // namespace deepinfer::cli
