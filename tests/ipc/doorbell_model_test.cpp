// Why both sides need the fence between their store and their load: every order in which a processor with
// store buffers can run the two, tried out. A model of docs/shared-memory.md, not of the compiled code; that
// is what sleep_race_test.cpp is for, which cannot try every order.
#include <gtest/gtest.h>

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

namespace deepinfer::ipc {
namespace {

constexpr std::uint8_t kRecords = 3;

struct Fences {
  bool publisher = true;
  bool sleeper = true;
};

struct State {
  // Memory.
  std::uint8_t published = 0;
  std::uint8_t sleeping = 0;
  std::uint8_t bell = 0;
  // Stores that a processor has made and others do not see yet: one each.
  std::int8_t publisher_store = -1;
  std::int8_t sleeper_store = -1;
  // What each does next, and what it knows.
  enum class Publisher : std::uint8_t { kPublish, kFence, kLook, kDone } publisher{};
  enum class Sleeper : std::uint8_t {
    kTake,
    kSayIt,
    kFence,
    kLook,
    kSleep,
    kTakeBack,
    kDone
  } sleeper{};
  std::uint8_t made = 0;
  std::uint8_t sleeps = 0;  // of the sleeper so far: the number that it stores
  std::uint8_t rung = 0;    // for which the publisher has rung
  std::uint8_t taken = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the zero of the comparison for a pointer
  auto operator<=>(const State&) const = default;
};
using Publisher = State::Publisher;
using Sleeper = State::Sleeper;

// The publisher's next step; false when it must wait.
bool step_publisher(State& state, Fences fences) {
  const bool has_store = state.publisher_store >= 0;
  switch (state.publisher) {
    case Publisher::kPublish:
      if (has_store) return false;
      state.publisher_store = static_cast<std::int8_t>(++state.made);
      state.publisher = Publisher::kFence;
      return true;
    case Publisher::kFence:
      if (fences.publisher && has_store) return false;
      state.publisher = Publisher::kLook;
      return true;
    case Publisher::kLook:
      if (state.sleeping != 0 && state.sleeping != state.rung) {
        state.bell = 1;
        state.rung = state.sleeping;
      }
      state.publisher = state.made < kRecords ? Publisher::kPublish : Publisher::kDone;
      return true;
    case Publisher::kDone:
      break;
  }
  return false;
}

// What comes after a look at what is published: when it is news, and when it is not.
Sleeper after_looking(const State& state, Sleeper news, Sleeper no_news) {
  if (state.taken == kRecords) return Sleeper::kDone;
  return state.published > state.taken ? news : no_news;
}

bool step_sleeper(State& state, Fences fences) {
  const bool has_store = state.sleeper_store >= 0;
  switch (state.sleeper) {
    case Sleeper::kTake:
      state.sleeper = after_looking(state, Sleeper::kTake, Sleeper::kSayIt);
      state.taken = state.published;
      return true;
    case Sleeper::kSayIt:
      if (has_store) return false;
      state.sleeper_store = static_cast<std::int8_t>(++state.sleeps);
      state.sleeper = Sleeper::kFence;
      return true;
    case Sleeper::kFence:
      if (fences.sleeper && has_store) return false;
      state.sleeper = Sleeper::kLook;
      return true;
    case Sleeper::kLook:
      state.sleeper = after_looking(state, Sleeper::kTakeBack, Sleeper::kSleep);
      return true;
    case Sleeper::kSleep:
      if (state.bell == 0) return false;
      state.bell = 0;
      state.sleeper = Sleeper::kTakeBack;
      return true;
    case Sleeper::kTakeBack:
      if (has_store) return false;
      state.sleeper_store = 0;
      state.sleeper = Sleeper::kTake;
      return true;
    case Sleeper::kDone:
      break;
  }
  return false;
}

std::vector<State> next_states(const State& state, Fences fences) {
  std::vector<State> next;
  State after = state;
  if (step_publisher(after, fences)) next.push_back(after);
  after = state;
  if (step_sleeper(after, fences)) next.push_back(after);
  if (state.publisher_store >= 0) {
    after = state;
    after.published = static_cast<std::uint8_t>(state.publisher_store);
    after.publisher_store = -1;
    next.push_back(after);
  }
  if (state.sleeper_store >= 0) {
    after = state;
    after.sleeping = static_cast<std::uint8_t>(state.sleeper_store);
    after.sleeper_store = -1;
    next.push_back(after);
  }
  return next;
}

// Whether some order of steps ends with a sleeper whom nobody will wake.
bool can_lose_a_wake_up(Fences fences) {
  std::set<State> seen{State{}};
  std::vector<State> open{State{}};
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    const std::vector<State> next = next_states(state, fences);
    if (next.empty() && state.sleeper != Sleeper::kDone) return true;
    for (const State& after : next) {
      if (seen.insert(after).second) open.push_back(after);
    }
  }
  return false;
}

TEST(DoorbellModel, LosesNoWakeUpWithBothFences) { EXPECT_FALSE(can_lose_a_wake_up({})); }

TEST(DoorbellModel, LosesOneWithoutEitherFence) {
  EXPECT_TRUE(can_lose_a_wake_up({.publisher = false}));
  EXPECT_TRUE(can_lose_a_wake_up({.sleeper = false}));
  EXPECT_TRUE(can_lose_a_wake_up({.publisher = false, .sleeper = false}));
}

}  // namespace
}  // namespace deepinfer::ipc
