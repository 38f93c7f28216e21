#include "daemon/lifecycle.h"

#include <algorithm>
#include <array>

namespace deepinfer::daemon {
namespace {

using enum Action;

// Actions of a row, the first `count` of `list`.
struct Actions {
  std::array<Action, 4> list{};
  std::size_t count = 0;
};

template <typename... Action>
constexpr Actions actions(Action... list) {
  return {{list...}, sizeof...(list)};
}

struct Row {
  State from{};
  Event event{};
  State to{};
  Actions actions;
};

// A pair of state and event without a row is refused.
constexpr std::array kRows{
    Row{State::kLoading, Event::kLoaded, State::kReady,
        actions(kAcceptWork, kNotifyReady, kNotifyStatus)},
    Row{State::kLoading, Event::kLoadFailed, State::kStopped, actions(kNotifyStopping, kExit)},
    // Nothing was accepted: there is nothing to wait for.
    Row{State::kLoading, Event::kStop, State::kStopped, actions(kNotifyStopping, kExit)},
    Row{State::kLoading, Event::kStopNow, State::kStopped, actions(kNotifyStopping, kExit)},

    Row{State::kReady, Event::kDrain, State::kDraining, actions(kRefuseWork, kNotifyStatus)},
    Row{State::kReady, Event::kStop, State::kStopping,
        actions(kRefuseWork, kNotifyStopping, kNotifyStatus, kStartGrace)},
    Row{State::kReady, Event::kStopNow, State::kStopped,
        actions(kRefuseWork, kNotifyStopping, kCancelAll, kExit)},

    Row{State::kDraining, Event::kDrain, State::kDraining, actions()},
    Row{State::kDraining, Event::kUndrain, State::kReady, actions(kAcceptWork, kNotifyStatus)},
    Row{State::kDraining, Event::kIdle, State::kDrained, actions(kNotifyStatus)},
    Row{State::kDraining, Event::kStop, State::kStopping,
        actions(kNotifyStopping, kNotifyStatus, kStartGrace)},
    Row{State::kDraining, Event::kStopNow, State::kStopped,
        actions(kNotifyStopping, kCancelAll, kExit)},

    Row{State::kDrained, Event::kDrain, State::kDrained, actions()},
    Row{State::kDrained, Event::kUndrain, State::kReady, actions(kAcceptWork, kNotifyStatus)},
    Row{State::kDrained, Event::kStop, State::kStopped, actions(kNotifyStopping, kExit)},
    Row{State::kDrained, Event::kStopNow, State::kStopped, actions(kNotifyStopping, kExit)},

    Row{State::kStopping, Event::kIdle, State::kStopped, actions(kExit)},
    Row{State::kStopping, Event::kStop, State::kStopped, actions(kCancelAll, kExit)},
    Row{State::kStopping, Event::kStopNow, State::kStopped, actions(kCancelAll, kExit)},
    Row{State::kStopping, Event::kGraceOver, State::kStopped, actions(kCancelAll, kExit)},
};

// What an operator reads; of events that nobody asks for, what a log may hold.
std::string refusal_of(State state, Event event) {
  if (state == State::kReady && event == Event::kUndrain) return "the daemon is not draining";
  const bool is_asked_for = event == Event::kDrain || event == Event::kUndrain;
  if (is_asked_for && state == State::kLoading) return "the daemon is loading its model";
  if (is_asked_for) return "the daemon is stopping";
  return std::string(name_of(event)) + " does not apply to a daemon that is " + name_of(state);
}

}  // namespace

Transition step(State state, Event event) {
  const auto* row = std::find_if(kRows.begin(), kRows.end(), [state, event](const Row& candidate) {
    return candidate.from == state && candidate.event == event;
  });
  if (row == kRows.end()) return {state, {}, refusal_of(state, event)};
  return {row->to, std::span(row->actions.list).first(row->actions.count), {}};
}

DaemonState to_daemon_state(State state) {
  switch (state) {
    case State::kLoading:
      return DaemonState::kLoading;
    case State::kReady:
      return DaemonState::kReady;
    case State::kDraining:
      return DaemonState::kDraining;
    case State::kDrained:
      return DaemonState::kDrained;
    case State::kStopping:
    case State::kStopped:
      break;
  }
  return DaemonState::kStopping;
}

const char* name_of(State state) {
  return state == State::kStopped ? "stopped" : deepinfer::name_of(to_daemon_state(state));
}

const char* name_of(Event event) {
  switch (event) {
    case Event::kLoaded:
      return "loaded";
    case Event::kLoadFailed:
      return "load_failed";
    case Event::kDrain:
      return "drain";
    case Event::kUndrain:
      return "undrain";
    case Event::kIdle:
      return "idle";
    case Event::kStop:
      return "stop";
    case Event::kStopNow:
      return "stop_now";
    case Event::kGraceOver:
      break;
  }
  return "grace_over";
}

}  // namespace deepinfer::daemon
