#include "daemon/log.h"

#include <array>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/file_descriptor.h"
#include "daemon/log_line.h"

namespace deepinfer::daemon {
namespace {

constexpr std::chrono::minutes kWindow{1};
// Keys are words of ours, some with a code behind: this many are a bug, and share one window.
constexpr std::size_t kMaxWindows = 256;

spdlog::level::level_enum level_of(LogLevel level) {
  constexpr std::array kLevels{spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
                               spdlog::level::warn, spdlog::level::err};
  return kLevels.at(static_cast<std::size_t>(level));
}

// %l is spdlog's name of the level: trace, debug, info, warning, error, as in the configuration.
const char* pattern_of(config::LogFormat format) {
  return format == config::LogFormat::kJson ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                                            : "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v";
}

// What spdlog calls when a line cannot be written. Standard error may be what fails.
void report_loss(const std::string& reason) {
  std::string line = "deepinferd: error: a line of the log is lost, more may be: ";
  append_escaped(line, reason);
  line += " (log.file): make room for it, or name another one\n";
  static_cast<void>(std::fputs(line.c_str(), stderr));
}

// Makes the file, or says why it cannot be written. spdlog would make missing folders too, and leave the file
// to be read by anybody.
Status make_file(const std::string& path) {
  constexpr mode_t kMode = 0640;
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, kMode));
  if (file.is_open()) return Done{};
  return fail(ErrorCode::kInvalidArgument, "cannot write " + path + ": " + last_system_error());
}

std::vector<spdlog::sink_ptr> sinks_of(const config::LogSection& section, Log::Terminal terminal) {
  std::vector<spdlog::sink_ptr> sinks;
  if (!section.file.empty()) {
    sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(section.file));
  }
  if (section.file.empty() || terminal == Log::Terminal::kToo) {
    sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  }
  return sinks;
}

}  // namespace

Result<std::unique_ptr<Log>> Log::open(const config::LogSection& section, Terminal terminal,
                                       const Clock& clock) {
  if (!section.file.empty()) {
    if (Status made = make_file(section.file); !made) return std::move(made).error();
  }
  try {
    const auto sinks = sinks_of(section, terminal);
    auto logger = std::make_unique<spdlog::logger>("deepinferd", sinks.begin(), sinks.end());
    logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        pattern_of(section.format), spdlog::pattern_time_type::utc));
    logger->set_level(level_of(section.level));
    logger->flush_on(spdlog::level::trace);
    return std::unique_ptr<Log>(new Log(std::move(logger), section.format, clock));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInvalidArgument, error.what());
  }
}

Log::Log(std::unique_ptr<spdlog::logger> logger, config::LogFormat format, const Clock& clock)
    : logger_(std::move(logger)), format_(format), clock_(clock) {
  logger_->set_error_handler([this](const std::string& reason) {
    if (!has_lost_line_.exchange(true, std::memory_order_relaxed)) report_loss(reason);
  });
}

Log::~Log() = default;

bool Log::is_on(LogLevel level) const { return logger_->should_log(level_of(level)); }

void Log::write(LogLevel level, std::string_view message, Fields fields) {
  if (is_on(level)) put(level, message, fields, 0);
}

void Log::limited(std::string_view key, LogLevel level, std::string_view message, Fields fields) {
  if (!is_on(level)) return;
  const auto suppressed = admit(key);
  if (suppressed) put(level, message, fields, *suppressed);
}

void Log::put(LogLevel level, std::string_view message, Fields fields, std::int64_t suppressed) {
  const std::string line = log_line(format_, message, {fields.begin(), fields.size()}, suppressed);
  logger_->log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
}

std::optional<std::int64_t> Log::admit(std::string_view key) {
  const Clock::TimePoint now = clock_.now();
  const std::scoped_lock lock(windows_mutex_);
  auto found = windows_.find(key);
  if (found == windows_.end()) {
    const bool is_full = windows_.size() >= kMaxWindows;
    found = windows_.try_emplace(is_full ? std::string() : std::string(key), Window{now}).first;
  }
  Window& window = found->second;
  if (now - window.begin >= kWindow) {
    window.begin = now;
    window.lines = 0;
  }
  if (window.lines == kMostRepeats) {
    ++window.suppressed;
    return std::nullopt;
  }
  ++window.lines;
  return std::exchange(window.suppressed, 0);
}

}  // namespace deepinfer::daemon
