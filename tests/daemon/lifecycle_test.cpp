// Every pair of state and event, and what must hold in any history of events.
#include "daemon/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

namespace deepinfer::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum Action;

constexpr std::array kStates{State::kLoading, State::kReady,    State::kDraining,
                             State::kDrained, State::kStopping, State::kStopped};
constexpr std::array kEvents{Event::kLoaded,  Event::kLoadFailed, Event::kDrain,
                             Event::kUndrain, Event::kIdle,       Event::kStop,
                             Event::kStopNow, Event::kGraceOver};

std::vector<Action> actions_of(State state, Event event) {
  const Transition transition = step(state, event);
  EXPECT_THAT(transition.refusal, IsEmpty());
  return {transition.actions.begin(), transition.actions.end()};
}

TEST(Lifecycle, AcceptsWorkBeforeItSaysThatItIsReady) {
  EXPECT_EQ(step(State::kLoading, Event::kLoaded).next, State::kReady);
  EXPECT_THAT(actions_of(State::kLoading, Event::kLoaded),
              ElementsAre(kAcceptWork, kNotifyReady, kNotifyStatus));
}

TEST(Lifecycle, EndsAtOnceWhenNothingCanHaveBeenAccepted) {
  for (const Event event : {Event::kLoadFailed, Event::kStop, Event::kStopNow}) {
    EXPECT_EQ(step(State::kLoading, event).next, State::kStopped);
    EXPECT_THAT(actions_of(State::kLoading, event), ElementsAre(kNotifyStopping, kExit));
  }
  EXPECT_THAT(actions_of(State::kDrained, Event::kStop), ElementsAre(kNotifyStopping, kExit));
}

TEST(Lifecycle, FinishesWhatItHasAcceptedBeforeItStops) {
  EXPECT_EQ(step(State::kReady, Event::kStop).next, State::kStopping);
  EXPECT_THAT(actions_of(State::kReady, Event::kStop),
              ElementsAre(kRefuseWork, kNotifyStopping, kNotifyStatus, kStartGrace));
  EXPECT_THAT(actions_of(State::kStopping, Event::kIdle), ElementsAre(kExit));
}

TEST(Lifecycle, WaitsNoLongerThanTheGraceOrTheSecondSignal) {
  for (const Event event : {Event::kGraceOver, Event::kStopNow, Event::kStop}) {
    EXPECT_EQ(step(State::kStopping, event).next, State::kStopped);
    EXPECT_THAT(actions_of(State::kStopping, event), ElementsAre(kCancelAll, kExit));
  }
}

TEST(Lifecycle, DrainsAndComesBack) {
  EXPECT_EQ(step(State::kReady, Event::kDrain).next, State::kDraining);
  EXPECT_THAT(actions_of(State::kReady, Event::kDrain), ElementsAre(kRefuseWork, kNotifyStatus));
  EXPECT_EQ(step(State::kDraining, Event::kIdle).next, State::kDrained);
  for (const State state : {State::kDraining, State::kDrained}) {
    EXPECT_EQ(step(state, Event::kUndrain).next, State::kReady);
    EXPECT_THAT(actions_of(state, Event::kUndrain), ElementsAre(kAcceptWork, kNotifyStatus));
  }
}

TEST(Lifecycle, TakesASecondDrainForGranted) {
  for (const State state : {State::kDraining, State::kDrained}) {
    EXPECT_EQ(step(state, Event::kDrain).next, state);
    EXPECT_THAT(actions_of(state, Event::kDrain), IsEmpty());
  }
}

TEST(Lifecycle, SaysWhyItRefuses) {
  EXPECT_EQ(step(State::kLoading, Event::kDrain).refusal, "the daemon is loading its model");
  EXPECT_EQ(step(State::kReady, Event::kUndrain).refusal, "the daemon is not draining");
  EXPECT_EQ(step(State::kStopping, Event::kDrain).refusal, "the daemon is stopping");
  EXPECT_EQ(step(State::kStopped, Event::kUndrain).refusal, "the daemon is stopping");
  EXPECT_EQ(step(State::kReady, Event::kIdle).refusal,
            "idle does not apply to a daemon that is ready");
}

TEST(Lifecycle, StaysWhereItIsWhenItRefuses) {
  std::vector<std::string> accepted;
  for (const State state : kStates) {
    for (const Event event : kEvents) {
      const Transition transition = step(state, event);
      if (transition.refusal.empty()) {
        accepted.push_back(std::string(name_of(state)) + " " + name_of(event));
      } else {
        EXPECT_EQ(transition.next, state);
        EXPECT_THAT(transition.actions, IsEmpty());
      }
    }
  }
  EXPECT_THAT(
      accepted,
      ElementsAre("loading loaded", "loading load_failed", "loading stop", "loading stop_now",
                  "ready drain", "ready stop", "ready stop_now", "draining drain",
                  "draining undrain", "draining idle", "draining stop", "draining stop_now",
                  "drained drain", "drained undrain", "drained stop", "drained stop_now",
                  "stopping idle", "stopping stop", "stopping stop_now", "stopping grace_over"));
}

TEST(Lifecycle, TellsClientsThatAStoppedDaemonIsStopping) {
  EXPECT_EQ(to_daemon_state(State::kLoading), DaemonState::kLoading);
  EXPECT_EQ(to_daemon_state(State::kReady), DaemonState::kReady);
  EXPECT_EQ(to_daemon_state(State::kDraining), DaemonState::kDraining);
  EXPECT_EQ(to_daemon_state(State::kDrained), DaemonState::kDrained);
  EXPECT_EQ(to_daemon_state(State::kStopping), DaemonState::kStopping);
  EXPECT_EQ(to_daemon_state(State::kStopped), DaemonState::kStopping);
}

// What a daemon that follows the table has done so far.
class History {
 public:
  void apply(Event event) {
    const Transition transition = step(state_, event);
    ASSERT_TRUE(transition.refusal.empty() || transition.next == state_);
    state_ = transition.next;
    for (const Action action : transition.actions) act(action);
    EXPECT_EQ(exits_, state_ == State::kStopped ? 1 : 0);
    EXPECT_EQ(accepts_work_, state_ == State::kReady);
    const bool is_leaving = state_ == State::kStopping || state_ == State::kStopped;
    EXPECT_EQ(stoppings_, is_leaving ? 1 : 0);
    EXPECT_EQ(has_grace_, state_ == State::kStopping || (has_grace_ && state_ == State::kStopped));
  }
  [[nodiscard]] State state() const { return state_; }

 private:
  void act(Action action) {
    EXPECT_EQ(exits_, 0) << "nothing follows the exit";
    switch (action) {
      case kAcceptWork:
        EXPECT_FALSE(accepts_work_);
        accepts_work_ = true;
        break;
      case kRefuseWork:
        EXPECT_TRUE(accepts_work_);
        accepts_work_ = false;
        break;
      case kNotifyReady:
        EXPECT_TRUE(accepts_work_);
        EXPECT_EQ(++readies_, 1);
        break;
      case kNotifyStopping:
        EXPECT_FALSE(accepts_work_);
        ++stoppings_;
        break;
      case kStartGrace:
        EXPECT_FALSE(has_grace_);
        has_grace_ = true;
        break;
      case kCancelAll:
        EXPECT_FALSE(accepts_work_);
        break;
      case kExit:
        EXPECT_EQ(stoppings_, 1);
        ++exits_;
        break;
      case kNotifyStatus:
        break;
    }
  }

  State state_ = State::kLoading;
  bool accepts_work_ = false;
  bool has_grace_ = false;
  int readies_ = 0;
  int stoppings_ = 0;
  int exits_ = 0;
};

TEST(Lifecycle, KeepsItsPromisesInAnyHistory) {
  int stopped = 0;
  for (std::uint32_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    // Half of the histories begin with a model that was opened: the rest of the table is behind it.
    History history;
    if (seed % 2 == 0) history.apply(Event::kLoaded);
    for (int i = 0; i < 40; ++i) {
      history.apply(kEvents.at(random() % kEvents.size()));
      if (::testing::Test::HasFailure()) return;
    }
    stopped += history.state() == State::kStopped ? 1 : 0;
  }
  EXPECT_GT(stopped, 4000);
}

TEST(Lifecycle, CanAlwaysBeStopped) {
  for (const State state : kStates) {
    if (state == State::kStopped) continue;
    EXPECT_EQ(step(state, Event::kStopNow).next, State::kStopped);
    const State next = step(state, Event::kStop).next;
    EXPECT_TRUE(next == State::kStopping || next == State::kStopped);
  }
}

}  // namespace
}  // namespace deepinfer::daemon
