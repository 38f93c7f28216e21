// deepinfer status, jobs, job ID, cancel ID: what the daemon does, and the end of a job.
//
// Threads:  confined to one thread
#pragma once

#include <string>

#include "client/cli/command_context.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace deepinfer::cli {

struct OperatorArguments {
  std::string socket;  // empty: from the environment, else the default one
  std::string job;     // of job and cancel
  bool is_json = false;
};

// status, jobs and undrain.
void add_operator(CLI::App& command, OperatorArguments& arguments);
// job and cancel.
void add_job_operator(CLI::App& command, OperatorArguments& arguments);

// Return the exit code; messages and results have gone to the context's streams.
[[nodiscard]] int run_status(const OperatorArguments& arguments, const CommandContext& context);
[[nodiscard]] int run_jobs(const OperatorArguments& arguments, const CommandContext& context);
[[nodiscard]] int run_job(const OperatorArguments& arguments, const CommandContext& context);
[[nodiscard]] int run_cancel(const OperatorArguments& arguments, const CommandContext& context);

}  // namespace deepinfer::cli
