// The arguments of deepinfer-model -> the subcommand they name, run.
//
// Errors:   wrong usage: one line on standard error, exit code 2
#pragma once

namespace deepinfer::engine::cli {

[[nodiscard]] int run_command_line(int argc, const char* const* argv);

}  // namespace deepinfer::engine::cli
