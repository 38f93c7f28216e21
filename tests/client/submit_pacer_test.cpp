#include "client/cli/submit_pacer.h"

#include <gtest/gtest.h>

namespace deepinfer::cli {
namespace {

using std::chrono::milliseconds;

TEST(SubmitPacer, AllowsUpToTheMost) {
  ManualClock clock;
  const SubmitPacer pacer(8, clock);

  EXPECT_TRUE(pacer.may_submit(7));
  EXPECT_FALSE(pacer.may_submit(8));
  EXPECT_EQ(pacer.pause_left().count(), 0);
}

TEST(SubmitPacer, ARefusalLowersTheNumberToWhatWasAccepted) {
  ManualClock clock;
  SubmitPacer pacer(8, clock);

  for (const std::size_t others : {7U, 6U, 5U}) pacer.refused(others);
  clock.advance(pacer.pause_left());

  EXPECT_TRUE(pacer.may_submit(4));
  EXPECT_FALSE(pacer.may_submit(5));
}

TEST(SubmitPacer, OneIsAlwaysTriedAgain) {
  ManualClock clock;
  SubmitPacer pacer(8, clock);

  pacer.refused(0);

  EXPECT_FALSE(pacer.may_submit(0));
  clock.advance(pacer.pause_left());
  EXPECT_TRUE(pacer.may_submit(0));
}

TEST(SubmitPacer, PausesDoubleUpToABoundAndRefusalsOfOneMomentCountOnce) {
  ManualClock clock;
  SubmitPacer pacer(8, clock);
  milliseconds expected{50};
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 5; ++j) pacer.refused(0);

    EXPECT_EQ(pacer.pause_left(), expected) << i;

    clock.advance(pacer.pause_left());
    expected = std::min(2 * expected, milliseconds(2000));
  }
}

TEST(SubmitPacer, WhatEndsEndsThePauseAndMakesTheNextShort) {
  ManualClock clock;
  SubmitPacer pacer(8, clock);
  for (int i = 0; i < 5; ++i) {
    pacer.refused(4);
    clock.advance(pacer.pause_left());
  }
  pacer.refused(4);

  pacer.ended();

  EXPECT_TRUE(pacer.may_submit(3));
  pacer.refused(3);
  EXPECT_EQ(pacer.pause_left(), milliseconds(50));
}

TEST(SubmitPacer, TheNumberGrowsAgainWithEveryWindowThatEnds) {
  ManualClock clock;
  SubmitPacer pacer(8, clock);
  pacer.refused(4);

  for (int i = 0; i < 3; ++i) pacer.ended();
  EXPECT_FALSE(pacer.may_submit(4));
  pacer.ended();
  EXPECT_TRUE(pacer.may_submit(4));
  for (int i = 0; i < 100; ++i) pacer.ended();
  EXPECT_TRUE(pacer.may_submit(7));
  EXPECT_FALSE(pacer.may_submit(8));
}

}  // namespace
}  // namespace deepinfer::cli
