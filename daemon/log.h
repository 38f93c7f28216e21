// The daemon's log: one line for each event, as text or as JSON, with structured fields.
//
// Text:     2026-12-01T10:00:00.123Z info    session closed session=3 reason="closed by the client"
// JSON:     {"time":"…","level":"info","message":"session closed","session":3,"reason":"…"}
// A field's text may come from anybody: it is escaped, so that it stays on its line and says nothing to a
// terminal, and cut after kMaxTextBytes.
// Threads:  any
// Lifetime: the Clock outlives it; fields refer to the caller's text for the length of the call
// Cost:     nothing but a comparison below the level; else a lock and a write for each line
// Errors:   a line that cannot be written is lost; the first one is reported on standard error
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"
#include "config/options.h"

namespace spdlog {
class logger;
}

namespace deepinfer::daemon {

using LogLevel = config::LogLevel;

// A named value of a line. The name is a word of ours: not "time", "level" or "message".
struct Field {
  using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  Field(std::string_view key, std::string_view text) : name(key), value(text) {}
  Field(std::string_view key, const std::string& text) : Field(key, std::string_view(text)) {}
  Field(std::string_view key, const char* text) : Field(key, std::string_view(text)) {}
  Field(std::string_view key, bool flag) : name(key), value(flag) {}
  Field(std::string_view key, std::signed_integral auto number)
      : name(key), value(static_cast<std::int64_t>(number)) {}
  Field(std::string_view key, std::unsigned_integral auto number)
      : name(key), value(static_cast<std::uint64_t>(number)) {}
  Field(std::string_view key, std::floating_point auto number)
      : name(key), value(static_cast<double>(number)) {}

  std::string_view name;
  Value value;
};
using Fields = std::initializer_list<Field>;

class Log {
 public:
  static constexpr std::size_t kMaxTextBytes = 512;  // of one field, before escapes
  // Of one key in a minute that limited() lets through.
  static constexpr std::int64_t kMostRepeats = 5;

  // Where lines go when a file is configured; without one they go to standard error in any case.
  enum class Terminal : std::uint8_t { kNo, kToo };

  // kInvalidArgument when the file cannot be opened. Lines are appended to it.
  [[nodiscard]] static Result<std::unique_ptr<Log>> open(const config::LogSection& section,
                                                         Terminal terminal, const Clock& clock);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  void write(LogLevel level, std::string_view message, Fields fields = {});
  void trace(std::string_view message, Fields fields = {}) {
    write(LogLevel::kTrace, message, fields);
  }
  void debug(std::string_view message, Fields fields = {}) {
    write(LogLevel::kDebug, message, fields);
  }
  void info(std::string_view message, Fields fields = {}) {
    write(LogLevel::kInfo, message, fields);
  }
  void warning(std::string_view message, Fields fields = {}) {
    write(LogLevel::kWarning, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) {
    write(LogLevel::kError, message, fields);
  }

  // For what a client can repeat at will: kMostRepeats lines of one key in a minute. The next line after
  // that says in the field `suppressed` how many were left out.
  void limited(std::string_view key, LogLevel level, std::string_view message, Fields fields = {});

  [[nodiscard]] bool is_on(LogLevel level) const;

 private:
  // The repeats of one key since `begin`.
  struct Window {
    Clock::TimePoint begin;
    std::int64_t lines = 0;
    std::int64_t suppressed = 0;
  };

  Log(std::unique_ptr<spdlog::logger> logger, config::LogFormat format, const Clock& clock);
  void put(LogLevel level, std::string_view message, Fields fields, std::int64_t suppressed);
  // How many lines were left out before this one; nothing when it is left out too.
  [[nodiscard]] std::optional<std::int64_t> admit(std::string_view key);

  std::unique_ptr<spdlog::logger> logger_;
  config::LogFormat format_;
  const Clock& clock_;
  std::atomic<bool> has_lost_line_ = false;  // orders nothing else: relaxed
  std::mutex windows_mutex_;
  std::map<std::string, Window, std::less<>> windows_;
};

}  // namespace deepinfer::daemon
