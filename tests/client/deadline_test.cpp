#include "client/cli/deadline.h"

#include <chrono>
#include <string_view>

#include "tests/support/result_matchers.h"

namespace deepinfer::cli {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::system_clock;

TEST(Deadline, ADurationCountsFromNow) {
  const Moment now{std::chrono::steady_clock::time_point(seconds(50)), {}};

  const auto deadline = parse_deadline("90min", now);

  ASSERT_OK(deadline);
  EXPECT_EQ(*deadline, now.steady + seconds(5400));
}

TEST(Deadline, ACalendarTimeIsMetByTheSteadyClock) {
  const auto moment = parse_calendar_time("2027-01-31T08:00:00Z");
  ASSERT_OK(moment);
  const Moment now{std::chrono::steady_clock::time_point(seconds(50)), *moment - hours(2)};

  const auto deadline = parse_deadline("2027-01-31T10:00:00+02:00", now);

  ASSERT_OK(deadline);
  EXPECT_EQ(*deadline, now.steady + hours(2));
}

TEST(Deadline, CalendarTimesAreThoseOfRfc3339) {
  EXPECT_EQ(*parse_calendar_time("1980-01-01T00:00:00Z"),
            system_clock::time_point(seconds(315532800)));
  EXPECT_EQ(*parse_calendar_time("1980-01-01t00:00:00.5z"),
            system_clock::time_point(std::chrono::milliseconds(315532800500)));
  EXPECT_EQ(*parse_calendar_time("1979-12-31T18:30:00-05:30"),
            system_clock::time_point(seconds(315532800)));
}

TEST(Deadline, FarTimesAreNeverAndNoOverflow) {
  const Moment now{std::chrono::steady_clock::now(), system_clock::now()};

  EXPECT_TRUE(parse_deadline("9999-12-31T23:59:59Z", now).has_value());
  EXPECT_TRUE(parse_deadline("0001-01-01T00:00:00Z", now).has_value());
  EXPECT_TRUE(parse_deadline("800000h", now).has_value());
}

TEST(Deadline, OtherTextsAreErrors) {
  for (const std::string_view text :
       {"", "soon", "5", "2027-01-31", "2027-01-31T08:00:00", "2027-02-30T08:00:00Z",
        "2027-01-31T24:00:00Z", "2027-01-31T08:00:00Zx", "2027-1-31T08:00:00Z",
        "2027-01-31T08:00:00.Z", "2027-01-31T08:00:00+2:00"}) {
    EXPECT_FAILS(parse_deadline(text, {}), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace deepinfer::cli
