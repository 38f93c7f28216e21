#include "client/cli/drain_command.h"

#include <gmock/gmock.h>

#include <string>

#include "client/cli/json_text.h"
#include "client/cli/messages.h"
#include "tests/client/command_fixture.h"

namespace deepinfer::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

DaemonStatus status(DaemonState state, std::int64_t running) {
  DaemonStatus status;
  status.state = state;
  status.requests_running = running;
  return status;
}

class Drain : public CommandTest {};

TEST_F(Drain, SaysWhatIsLeftAndDoesNotWait) {
  daemon.statuses = {status(DaemonState::kDraining, 8)};

  EXPECT_EQ(run({"drain"}), kExitDone);

  EXPECT_THAT(daemon.orders, ElementsAre("drain"));
  EXPECT_EQ(out.str(), "draining: 0 requests queued, 8 running\n");
  EXPECT_EQ(pauses, 0);
}

TEST_F(Drain, WaitsUntilTheDaemonHasDrained) {
  daemon.statuses = {status(DaemonState::kDraining, 2), status(DaemonState::kDraining, 1),
                     status(DaemonState::kDraining, 1), status(DaemonState::kDrained, 0)};

  EXPECT_EQ(run({"drain", "--wait", "--json"}), kExitDone);

  EXPECT_EQ(out.str(), "{\"state\":\"drained\",\"requests\":{\"queued\":0,\"running\":0}}\n");
  EXPECT_EQ(pauses, 2);
  EXPECT_THAT(err.str(), IsEmpty());
}

TEST_F(Drain, ATimeoutThatExpiresIsRefusedAndTheDaemonGoesOn) {
  daemon.statuses = {status(DaemonState::kDraining, 2)};

  EXPECT_EQ(run({"drain", "--timeout", "12s"}), kExitRefused);

  EXPECT_THAT(daemon.orders, ElementsAre("drain"));
  EXPECT_EQ(clock.now().time_since_epoch(), std::chrono::seconds(12));
  EXPECT_THAT(err.str(), StartsWith("deepinfer: draining, 0 requests queued, 2 running\n"
                                    "deepinfer: draining, 0 requests queued, 2 running\n"
                                    "deepinfer: error: not drained in time: 0 requests queued, 2 "
                                    "running (/run/x.sock): the daemon goes on draining"));
  EXPECT_THAT(out.str(), IsEmpty());
}

TEST_F(Drain, ATimeoutThatIsNotNeededIsNoMatter) {
  daemon.statuses = {status(DaemonState::kDraining, 2), status(DaemonState::kDrained, 0)};

  EXPECT_EQ(run({"drain", "--wait", "--timeout", "0s"}), kExitDone);
  EXPECT_EQ(run({"drain", "--timeout", "soon"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("(--timeout)"));
}

// A daemon that stops finishes what it accepted first; with nothing left there is no difference.
TEST_F(Drain, ADaemonThatStopsWithNothingLeftHasDrained) {
  daemon.statuses = {status(DaemonState::kDraining, 2), status(DaemonState::kStopping, 1),
                     status(DaemonState::kStopping, 0)};

  EXPECT_EQ(run({"drain", "--wait"}), kExitDone);
}

TEST_F(Drain, ADaemonThatGoesAwayBeforeHasNot) {
  ClientError lost = nobody_there();
  lost.code = "daemon_lost";
  daemon.statuses = {status(DaemonState::kDraining, 2), status(DaemonState::kStopping, 2), lost};

  EXPECT_EQ(run({"drain", "--wait"}), kExitNoDaemon);

  EXPECT_THAT(err.str(), HasSubstr("went away before it said that it had drained, last with 0 "
                                   "requests queued, 2 running (/run/x.sock)"));
}

TEST_F(Drain, ADaemonThatSomebodyTakesBackIsRefused) {
  daemon.statuses = {status(DaemonState::kDraining, 2), status(DaemonState::kReady, 2)};

  EXPECT_EQ(run({"drain", "--wait"}), kExitRefused);
  EXPECT_THAT(err.str(), HasSubstr("undrained"));
}

TEST_F(Drain, ASignalEndsTheWait) {
  daemon.statuses = {status(DaemonState::kDraining, 2)};

  EXPECT_EQ(run({"drain", "--wait"}, 3), 130);
  EXPECT_THAT(err.str(), HasSubstr("the daemon goes on draining"));
}

TEST_F(Drain, WhatTheDaemonRefusesIsSaidInItsWords) {
  daemon.refusal = ClientError{ClientFault::kRefused, "not_permitted", "uid 1000 may not drain",
                               "/run/x.sock", "ask root"};
  for (const std::string command : {"drain", "undrain"}) {
    EXPECT_EQ(run({command}), kExitRefused);
    EXPECT_EQ(err.str(),
              "deepinfer: error: not_permitted: uid 1000 may not drain (/run/x.sock): ask root\n");
  }
}

TEST_F(Drain, UndrainShowsTheNewState) {
  daemon.statuses = {status(DaemonState::kReady, 1)};

  EXPECT_EQ(run({"undrain"}), kExitDone);

  EXPECT_THAT(daemon.orders, ElementsAre("undrain"));
  EXPECT_EQ(out.str(), "ready: 0 requests queued, 1 running\n");
}

}  // namespace
}  // namespace deepinfer::cli
