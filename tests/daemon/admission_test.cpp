#include "daemon/admission.h"

#include <gtest/gtest.h>

namespace deepinfer::daemon {
namespace {

constexpr AdmissionLimits kLimits{100, 10};

TEST(Admission, AdmitsWhileThereIsRoom) {
  EXPECT_FALSE(refusal_of(kLimits, {DaemonState::kReady, 99, 9}));
}

TEST(Admission, NamesTheStateThatTakesNoWork) {
  EXPECT_EQ(refusal_of(kLimits, {DaemonState::kLoading, 0, 0})->code, "loading");
  EXPECT_EQ(refusal_of(kLimits, {DaemonState::kDraining, 0, 0})->code, "draining");
  EXPECT_EQ(refusal_of(kLimits, {DaemonState::kDrained, 0, 0})->code, "draining");
  EXPECT_EQ(refusal_of(kLimits, {DaemonState::kStopping, 0, 0})->code, "stopping");
}

TEST(Admission, RefusesAtEachLimitWithBothNumbers) {
  const auto of_session = refusal_of(kLimits, {DaemonState::kReady, 50, 10});
  ASSERT_TRUE(of_session);
  EXPECT_EQ(of_session->code, "over_capacity");
  EXPECT_EQ(of_session->message, "10 answers of this session are unfinished, and 10 is the most");

  const auto of_all = refusal_of(kLimits, {DaemonState::kReady, 100, 0});
  ASSERT_TRUE(of_all);
  EXPECT_EQ(of_all->message, "100 answers of all clients are unfinished, and 100 is the most");
}

}  // namespace
}  // namespace deepinfer::daemon
