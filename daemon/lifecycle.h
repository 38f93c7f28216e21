// The states of the daemon's life and what moves it from one to the next: one table, in lifecycle.cpp.
//
// A pure function: it says what to do and does nothing. Whoever drives it takes `next`, then does `actions`
// in their order.
// Threads:  pure functions
// Errors:   an event that does not apply is a refusal with the reason; the state stays
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <deepinfer/jobs.h>

namespace deepinfer::daemon {

enum class State : std::uint8_t { kLoading, kReady, kDraining, kDrained, kStopping, kStopped };

enum class Event : std::uint8_t {
  kLoaded,      // the model can be used
  kLoadFailed,  // it cannot
  kDrain,       // an operator asks for it
  kUndrain,     // likewise
  kIdle,        // nothing that was accepted is left
  kStop,        // SIGTERM or SIGINT; a second one is as kStopNow
  kStopNow,     // stop without waiting
  kGraceOver,   // the time for finishing after kStop has passed
};

enum class Action : std::uint8_t {
  kAcceptWork,      // from now on requests are accepted
  kRefuseWork,      // from now on none are
  kNotifyReady,     // the service manager: READY
  kNotifyStopping,  // the service manager: STOPPING; once in a life, before kExit
  kNotifyStatus,    // the service manager: a line on the new state
  kStartGrace,      // kGraceOver is to come when drain.grace has passed
  kCancelAll,       // end what was accepted and is unfinished
  kExit,            // leave the loop; once in a life, the last action
};

struct Transition {
  State next;
  std::span<const Action> actions;  // may be empty; valid for ever
  std::string refusal;              // one lower-case clause; empty: it applies
};

[[nodiscard]] Transition step(State state, Event event);

// What clients are told; kStopped is kStopping to them.
[[nodiscard]] DaemonState to_daemon_state(State state);
// "loading", ..., "stopped".
[[nodiscard]] const char* name_of(State state);
// "loaded", "load_failed", ...
[[nodiscard]] const char* name_of(Event event);

}  // namespace deepinfer::daemon
