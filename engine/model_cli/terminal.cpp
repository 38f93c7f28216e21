#include "engine/model_cli/terminal.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace deepinfer::engine::cli {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all a signal handler may write.
volatile std::sig_atomic_t caught_signal = 0;

void remember(int signal) { caught_signal = signal; }

}  // namespace

void print_error(const Problem& problem) {
  std::cerr << "deepinfer: error: " << printable(problem.what) << " (" << printable(problem.where)
            << "): " << printable(problem.mend) << "\n";
}

void print_problems(const Problems& problems, std::size_t limit) {
  const std::size_t count = limit == 0 ? problems.size() : std::min(limit, problems.size());
  for (std::size_t i = 0; i < count; ++i) print_error(problems[i]);
  if (count == problems.size()) return;
  print_error({.where = "all of it",
               .what = std::to_string(problems.size() - count) + " more problems",
               .mend = "deepinfer-model verify names every one"});
}

int check_folder(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(folder, error);
  if (!error) return kDone;
  print_error({.where = folder.string(),
               .what = "cannot read the folder: " + error.message(),
               .mend = "name the folder that holds config.json and the weights"});
  return kUsage;
}

int report_write_failure(const Error& error, const std::filesystem::path& output) {
  if (error.code == ErrorCode::kCancelled && interrupted()) {
    print_error({.where = output.string(),
                 .what = "interrupted, nothing was kept",
                 .mend = "run the command again"});
    return interrupt_exit_code();
  }
  print_error({.where = output.string(),
               .what = error.message,
               .mend = "name a new or empty folder on a disk with enough room, and remove what an "
                       "interrupted run left"});
  return kUsage;
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = &remember;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &action, nullptr);
}

bool interrupted() { return caught_signal != 0; }

int interrupt_exit_code() { return 128 + static_cast<int>(caught_signal); }

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

std::string human_bytes(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  std::ostringstream text;
  text << std::setprecision(3) << (value < 1000 ? value : 999.0) << ' ' << kUnits[unit];
  return text.str();
}

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte != 0x7f) {
      out += letter;
      continue;
    }
    out += "\\x";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

ProgressLine::ProgressLine(std::string label)
    : label_(std::move(label)), visible_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (visible_) std::cerr << "\r\x1b[K" << std::flush;
}

bool ProgressLine::show(std::int64_t done, std::int64_t total) {
  if (interrupted()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!visible_ || now < next_) return true;
  constexpr auto kPause = std::chrono::milliseconds(100);
  next_ = now + kPause;
  const std::int64_t percent = total > 0 ? 100 * done / total : 100;
  std::cerr << "\r\x1b[K" << label_ << ' ' << percent << "% (" << human_bytes(done) << " of "
            << human_bytes(total) << ")" << std::flush;
  return true;
}

}  // namespace deepinfer::engine::cli
