#include "client/cli/drain_command.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/cli/daemon_error.h"
#include "client/cli/messages.h"
#include "client/cli/operator_text.h"
#include "client/cli/place.h"
#include "client/cli/response_parts.h"
#include "config/values.h"

namespace deepinfer::cli {
namespace {

using std::chrono::milliseconds;

// How often the daemon is asked, and how often a person is told.
constexpr milliseconds kAskInterval{200};
constexpr std::chrono::seconds kTellInterval{5};

std::int64_t left_of(const DaemonStatus& status) {
  return status.requests_queued + status.requests_running;
}

// One that stops finishes what it accepted, as one that drains does.
bool has_drained(const DaemonStatus& status) {
  if (status.state == DaemonState::kDrained) return true;
  return status.state == DaemonState::kStopping && left_of(status) == 0;
}

int print_state(const DaemonStatus& status, bool is_json, const CommandContext& context) {
  if (!is_json) {
    context.out << name_of(status.state) << ": " << load_text(status) << '\n' << std::flush;
    return kExitDone;
  }
  const nlohmann::ordered_json object = {
      {"state", name_of(status.state)},
      {"requests", {{"queued", status.requests_queued}, {"running", status.requests_running}}}};
  context.out << to_text(object) << '\n' << std::flush;
  return kExitDone;
}

// Asks until everything that was accepted has ended.
class DrainWait {
 public:
  DrainWait(Control& control, std::optional<milliseconds> timeout, const CommandContext& context)
      : control_(control), context_(context), next_tell_(context.clock.now() + kTellInterval) {
    if (timeout) give_up_ = context.clock.now() + *timeout;
  }

  // The exit code; `last` is what was seen last.
  int run(DaemonStatus& last) {
    while (true) {
      auto answer = control_.status();
      if (const auto* error = std::get_if<ClientError>(&answer)) return went_away(*error, last);
      last = std::get<DaemonStatus>(std::move(answer));
      if (has_drained(last)) return kExitDone;
      if (last.state == DaemonState::kReady) {
        return complain("undrained: the daemon takes requests again", "drain it again");
      }
      if (const int number = context_.stop_signal(); number != 0) {
        static_cast<void>(complain("interrupted with " + load_text(last),
                                   "the daemon goes on draining; deepinfer undrain ends that"));
        return kExitSignal + number;
      }
      const auto now = context_.clock.now();
      if (give_up_ && now >= *give_up_) {
        return complain("not drained in time: " + load_text(last),
                        "the daemon goes on draining; wait longer, or deepinfer undrain");
      }
      tell(last, now);
      context_.pause(pause_from(now));
    }
  }

 private:
  [[nodiscard]] milliseconds pause_from(Clock::TimePoint now) const {
    if (!give_up_) return kAskInterval;
    return std::min(kAskInterval, std::chrono::ceil<milliseconds>(*give_up_ - now));
  }

  void tell(const DaemonStatus& status, Clock::TimePoint now) {
    if (now < next_tell_) return;
    next_tell_ = now + kTellInterval;
    context_.err << "deepinfer: " << name_of(status.state) << ", " << load_text(status) << '\n'
                 << std::flush;
  }

  int complain(const std::string& what, const std::string& mend) {
    print_error(context_.err, config::to_line({what, control_.socket().string(), mend}));
    return kExitRefused;
  }

  // What it had accepted may be lost: that is not drained.
  int went_away(const ClientError& error, const DaemonStatus& last) {
    if (error.fault != ClientFault::kUnreachable) {
      return report(error, Alternative::kNone, context_.err);
    }
    static_cast<void>(complain(
        "the daemon went away before it said that it had drained, last with " + load_text(last),
        "look into its log"));
    return kExitNoDaemon;
  }

  Control& control_;
  const CommandContext& context_;
  std::optional<Clock::TimePoint> give_up_;
  Clock::TimePoint next_tell_;
};

int drain(Control& control, const DrainArguments& arguments, std::optional<milliseconds> timeout,
          const CommandContext& context) {
  if (const auto error = control.drain()) return report(*error, Alternative::kNone, context.err);
  auto answer = control.status();
  if (const auto* error = std::get_if<ClientError>(&answer)) {
    return report(*error, Alternative::kNone, context.err);
  }
  auto& status = std::get<DaemonStatus>(answer);
  int exit_code = kExitDone;
  if (arguments.is_waiting || timeout) {
    exit_code = DrainWait(control, timeout, context).run(status);
  }
  if (exit_code == kExitDone || arguments.is_json) {
    static_cast<void>(print_state(status, arguments.is_json, context));
  }
  return exit_code;
}

}  // namespace

void add_drain(CLI::App& command, DrainArguments& arguments) {
  command.add_flag("--wait", arguments.is_waiting, "Until everything accepted has ended");
  command.add_option("--timeout", arguments.timeout, "Wait no longer than this (90s, 5min)");
  add_undrain(command, arguments);
}

void add_undrain(CLI::App& command, DrainArguments& arguments) {
  add_socket(command, arguments.socket);
  command.add_flag("--json", arguments.is_json, "Print the state as JSON");
}

int run_drain(const DrainArguments& arguments, const CommandContext& context) {
  std::vector<config::Problem> problems;
  std::optional<milliseconds> timeout;
  if (!arguments.timeout.empty()) {
    const auto parsed = config::parse_duration(arguments.timeout);
    if (parsed) {
      timeout = *parsed;
    } else {
      problems.push_back({parsed.error().message, "--timeout", "give a time such as 5min"});
    }
  }
  const auto place = daemon_place(arguments.socket, std::move(problems), context);
  if (!place) return kExitUsage;
  int exit_code = kExitDone;
  const auto control = open_control(*place, context, exit_code);
  return control ? drain(*control, arguments, timeout, context) : exit_code;
}

int run_undrain(const DrainArguments& arguments, const CommandContext& context) {
  const auto place = daemon_place(arguments.socket, {}, context);
  if (!place) return kExitUsage;
  int exit_code = kExitDone;
  const auto control = open_control(*place, context, exit_code);
  if (!control) return exit_code;
  if (const auto error = control->undrain()) return report(*error, Alternative::kNone, context.err);
  const auto answer = control->status();
  if (const auto* error = std::get_if<ClientError>(&answer)) {
    return report(*error, Alternative::kNone, context.err);
  }
  return print_state(std::get<DaemonStatus>(answer), arguments.is_json, context);
}

}  // namespace deepinfer::cli
