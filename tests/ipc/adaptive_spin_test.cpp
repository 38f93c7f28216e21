// Spinning goes where it pays and stays away where it does not.
#include "ipc/adaptive_spin.h"

#include <gtest/gtest.h>

#include <chrono>

namespace deepinfer::ipc {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kLimit = 20us;

// How many of `waits` spin when each one takes `waited`.
int spins(AdaptiveSpin& spin, nanoseconds waited, int waits) {
  int spun = 0;
  for (int i = 0; i < waits; ++i) {
    if (spin.next(kLimit, 2) > 0ns) ++spun;
    spin.learn(waited);
  }
  return spun;
}

TEST(AdaptiveSpin, BeginsWithTheLimit) { EXPECT_EQ(AdaptiveSpin().next(kLimit, 2), kLimit); }

TEST(AdaptiveSpin, DoesNotSpinOnOneProcessorOrWithoutALimit) {
  AdaptiveSpin spin;
  EXPECT_EQ(spin.next(kLimit, 1), 0ns);
  EXPECT_EQ(spin.next(0ns, 2), 0ns);
  EXPECT_EQ(spin.next(-5us, 2), 0ns);
  spin.learn(1ms);
}

TEST(AdaptiveSpin, KeepsSpinningWhileItPays) {
  AdaptiveSpin spin;
  EXPECT_EQ(spins(spin, 1us, 1000), 1000);
  EXPECT_EQ(spin.next(kLimit, 2), kLimit);
}

TEST(AdaptiveSpin, HalvesItsBudgetWhenItSpunInVain) {
  AdaptiveSpin spin;
  ASSERT_EQ(spin.next(kLimit, 2), kLimit);
  spin.learn(kLimit + 5us);
  EXPECT_EQ(spin.next(kLimit, 2), kLimit / 2);
  spin.learn(1us);
  EXPECT_EQ(spin.next(kLimit, 2), kLimit);
}

TEST(AdaptiveSpin, TriesOneWaitIn64WhereAnswersAreSlow) {
  AdaptiveSpin spin;
  static_cast<void>(spins(spin, 1ms, 100));
  EXPECT_EQ(spins(spin, 1ms, 6400), 100);
}

TEST(AdaptiveSpin, TakesUpAgainWhenATryPays) {
  AdaptiveSpin spin;
  static_cast<void>(spins(spin, 1h, 1000));
  const int waits_until_a_try = 64;
  EXPECT_GE(spins(spin, 2us, waits_until_a_try + 100), 100);
}

TEST(AdaptiveSpin, FollowsALimitThatShrinks) {
  AdaptiveSpin spin;
  static_cast<void>(spins(spin, 1us, 10));
  EXPECT_EQ(spin.next(5us, 2), 5us);
}

TEST(AdaptiveSpin, KnowsAtLeastOneProcessor) { EXPECT_GE(usable_processors(), 1); }

}  // namespace
}  // namespace deepinfer::ipc
