// The program deepinfer: gives the commands the real world.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "client/cli/app.h"
#include "client/cli/daemon_runner.h"
#include "client/cli/embedded_runner.h"
#include "client/cli/stop_signals.h"

namespace {

// Empty when the system does not say.
std::filesystem::path program_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

int become(const std::filesystem::path& program, std::vector<std::string> words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  return errno;
}

}  // namespace

int main(int count, char** words) {
  // A file that grows beyond its limit is an error of write(), reported like a full disk.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  deepinfer::cli::StopSignals signals;
  const deepinfer::SteadyClock clock;
  const deepinfer::cli::CommandContext context{
      std::cout,
      std::cerr,
      clock,
      [] { return std::chrono::system_clock::now(); },
      [&signals] { return signals.poll(); },
      [&signals](std::chrono::milliseconds time) { signals.wait(time); },
      deepinfer::cli::open_embedded,
      deepinfer::cli::open_daemon,
      [](const auto& socket, auto& error) { return deepinfer::cli::open_control(socket, error); },
      deepinfer::config::process_environment(),
      program_folder(),
      [&signals](const auto& program, const auto& arguments) {
        signals.restore();
        return become(program, arguments);
      },
      isatty(STDERR_FILENO) == 1,
  };
  const std::span<const char* const> all(words, static_cast<std::size_t>(count));
  return deepinfer::cli::run_app(all.subspan(all.empty() ? 0 : 1), context);
}
