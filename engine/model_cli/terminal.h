// What every subcommand tells its user: exit codes, errors, progress, interruption.
//
// Errors go to standard error, one line each: `deepinfer: error: WHAT (WHERE): HOW TO MEND`. Control
// characters of a file's contents are escaped, so that no file can write to the terminal.
//
// Threads:  confined to the main thread; the interrupt flag is set by a signal handler.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/checkpoint/problem.h"

namespace deepinfer::engine::cli {

enum ExitCode : int {
  kDone = 0,
  kUsage = 2,  // wrong usage, or a file that cannot be read or written
  kModel = 4,  // the model or checkpoint cannot be used
};

void print_error(const Problem& problem);
// All of them when `limit` is 0; else as many, and how many more there are.
void print_problems(const Problems& problems, std::size_t limit);

// Prints and returns kUsage when `folder` is no folder that can be read.
[[nodiscard]] int check_folder(const std::filesystem::path& folder);
// Prints a failed write and returns its exit code: 128 + signal when the user stopped it.
[[nodiscard]] int report_write_failure(const Error& error, const std::filesystem::path& output);

// From here on SIGINT and SIGTERM set a flag instead of ending the process, so that work in progress
// can be removed; a write beyond the file size limit fails instead of killing.
void catch_signals();
[[nodiscard]] bool interrupted();
// 128 + the signal that came.
[[nodiscard]] int interrupt_exit_code();

// 1,234,567
[[nodiscard]] std::string grouped(std::int64_t number);
// 12.3 GB: decimal units, three digits
[[nodiscard]] std::string human_bytes(std::int64_t bytes);
[[nodiscard]] std::string printable(std::string_view text);

// A line on standard error that is drawn over itself, when that is a terminal; else nothing.
class ProgressLine {
 public:
  explicit ProgressLine(std::string label);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();  // clears the line

  // False when the user asked to stop.
  bool show(std::int64_t done, std::int64_t total);

 private:
  std::string label_;
  bool visible_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace deepinfer::engine::cli
