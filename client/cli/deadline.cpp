#include "client/cli/deadline.h"

#include <algorithm>
#include <optional>
#include <string>

#include "config/values.h"

namespace deepinfer::cli {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Error not_a_deadline(std::string_view text) {
  return fail(
      ErrorCode::kInvalidArgument,
      "expected a time such as 90min or 2027-01-31T08:00:00Z, got \"" + std::string(text) + "\"");
}

// Reads fixed-width fields from the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  std::optional<int> digits(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  bool one_of(std::string_view letters) {
    if (rest_.empty() || letters.find(rest_.front()) == std::string_view::npos) return false;
    last_ = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] char last() const { return last_; }
  [[nodiscard]] bool is_empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  char last_ = 0;
};

std::optional<std::chrono::sys_days> read_date(Cursor& cursor) {
  const auto year = cursor.digits(4);
  if (!year || !cursor.one_of("-")) return std::nullopt;
  // Clocks count nanoseconds in 64 bits; beyond these years is never, or long ago.
  const int counted_year = std::clamp(*year, 1971, 2200);
  const auto month = cursor.digits(2);
  if (!month || !cursor.one_of("-")) return std::nullopt;
  const auto day = cursor.digits(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(counted_year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

// Two numbers with a colon between: hours and minutes.
std::optional<minutes> read_clock(Cursor& cursor) {
  const auto hour = cursor.digits(2);
  if (!hour || *hour > 23 || !cursor.one_of(":")) return std::nullopt;
  const auto minute = cursor.digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  return std::chrono::hours(*hour) + minutes(*minute);
}

std::optional<std::chrono::milliseconds> read_seconds(Cursor& cursor) {
  if (!cursor.one_of(":")) return std::nullopt;
  const auto second = cursor.digits(2);
  if (!second || *second > 60) return std::nullopt;
  std::chrono::milliseconds time = seconds(*second);
  if (!cursor.one_of(".")) return time;
  // Digits beyond the third are below what a deadline needs.
  int place = 100;
  auto digit = cursor.digits(1);
  if (!digit) return std::nullopt;
  while (digit) {
    time += std::chrono::milliseconds(*digit * place);
    place /= 10;
    digit = cursor.digits(1);
  }
  return time;
}

// "Z", "+02:00" or "-05:30": how far local time is ahead.
std::optional<minutes> read_offset(Cursor& cursor) {
  if (cursor.one_of("Zz")) return minutes(0);
  if (!cursor.one_of("+-")) return std::nullopt;
  const bool is_behind = cursor.last() == '-';
  const auto offset = read_clock(cursor);
  if (!offset) return std::nullopt;
  return is_behind ? -*offset : *offset;
}

}  // namespace

Result<std::chrono::system_clock::time_point> parse_calendar_time(std::string_view text) {
  Cursor cursor(text);
  const auto date = read_date(cursor);
  if (!date || !cursor.one_of("Tt ")) return not_a_deadline(text);
  const auto clock = read_clock(cursor);
  if (!clock) return not_a_deadline(text);
  const auto second = read_seconds(cursor);
  if (!second) return not_a_deadline(text);
  const auto offset = read_offset(cursor);
  if (!offset || !cursor.is_empty()) return not_a_deadline(text);
  return std::chrono::system_clock::time_point(*date + *clock + *second - *offset);
}

Result<std::chrono::steady_clock::time_point> parse_deadline(std::string_view text,
                                                             const Moment& now) {
  if (const auto duration = config::parse_duration(text)) return now.steady + *duration;
  const auto calendar = parse_calendar_time(text);
  if (!calendar) return calendar.error();
  return now.steady +
         std::chrono::duration_cast<std::chrono::nanoseconds>(*calendar - now.calendar);
}

}  // namespace deepinfer::cli
