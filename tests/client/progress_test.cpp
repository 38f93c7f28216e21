#include "client/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace deepinfer::cli {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ProgressFacts facts_of(std::int64_t done) {
  ProgressFacts facts;
  facts.total = 40;
  facts.done = done;
  facts.failed = 1;
  facts.engine.prefill_tokens = 830;
  facts.engine.prefill_time = seconds(1);
  facts.engine.decode_tokens = 104;
  facts.engine.decode_time = seconds(2);
  return facts;
}

TEST(Progress, TextHasCountsRatesAndTheTimeLeft) {
  EXPECT_EQ(progress_text(facts_of(10), seconds(20)),
            "10/40 requests, 1 failed, prefill 830 tokens/s, decode 52 tokens/s, 1 min 0 s left");
  EXPECT_EQ(progress_text(facts_of(40), seconds(20)),
            "40/40 requests, 1 failed, prefill 830 tokens/s, decode 52 tokens/s, 20 s");
}

TEST(Progress, TheTimeLeftFollowsFromThePaceOfThisRunAlone) {
  ProgressFacts facts = facts_of(20);
  facts.resumed = 10;

  EXPECT_THAT(progress_text(facts, seconds(10)), HasSubstr("20 s left"));
}

TEST(Progress, BeforeAnythingIsDoneThereIsNoGuess) {
  ProgressFacts facts;
  facts.total = 2;

  EXPECT_EQ(progress_text(facts, seconds(0)),
            "0/2 requests, 0 failed, prefill 0 tokens/s, decode 0 tokens/s");
}

TEST(Progress, PlainLinesComeEveryFewSeconds) {
  std::ostringstream err;
  ManualClock clock;
  Progress progress(err, clock, Progress::Style::kPlain);

  progress.update(facts_of(1));
  err.str("");
  clock.advance(seconds(4));
  progress.update(facts_of(2));
  EXPECT_THAT(err.str(), IsEmpty());
  clock.advance(seconds(1));
  progress.update(facts_of(3));
  EXPECT_THAT(err.str(), HasSubstr("deepinfer: 3/40 requests"));
}

TEST(Progress, ABarStaysOnItsLineUntilTheEnd) {
  std::ostringstream err;
  ManualClock clock;
  Progress progress(err, clock, Progress::Style::kBar);

  progress.update(facts_of(20));
  EXPECT_THAT(err.str(), HasSubstr("[############............] 20/40"));
  EXPECT_EQ(err.str().find('\n'), std::string::npos);
  progress.finish(facts_of(40));
  EXPECT_EQ(err.str().back(), '\n');
}

TEST(Progress, NoneIsSilent) {
  std::ostringstream err;
  ManualClock clock;
  Progress progress(err, clock, Progress::Style::kNone);

  progress.update(facts_of(1));
  progress.finish(facts_of(40));

  EXPECT_THAT(err.str(), IsEmpty());
}

TEST(Progress, TimesAreSpokenInTwoUnits) {
  EXPECT_EQ(spoken_time(seconds(59)), "59 s");
  EXPECT_EQ(spoken_time(seconds(200)), "3 min 20 s");
  EXPECT_EQ(spoken_time(seconds(7500)), "2 h 5 min");
}

}  // namespace
}  // namespace deepinfer::cli
