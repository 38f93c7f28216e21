// Lines as they are written, whatever they hold and however often they repeat.
#include "daemon/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "daemon/log_line.h"
#include "tests/client/temporary_folder.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::daemon {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_line(std::string_view message, Fields fields) {
  return log_line(config::LogFormat::kText, message, {fields.begin(), fields.size()}, 0);
}

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

class LogTest : public ::testing::Test {
 protected:
  // Writes into the folder's file.
  void open(LogLevel level = LogLevel::kInfo, config::LogFormat format = config::LogFormat::kText) {
    const config::LogSection section{level, format, folder / "log"};
    auto opened = Log::open(section, Log::Terminal::kNo, clock);
    ASSERT_OK(opened);
    log = *std::move(opened);
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    return lines_of(content_of(folder / "log"));
  }
  // Without time and level.
  [[nodiscard]] std::vector<std::string> messages() const {
    std::vector<std::string> messages = lines();
    constexpr std::size_t kPrefix = std::string_view("2026-12-01T10:00:00.123Z info    ").size();
    for (std::string& line : messages) line.erase(0, kPrefix);
    return messages;
  }

  TemporaryFolder folder;
  ManualClock clock;
  std::unique_ptr<Log> log;
};

TEST_F(LogTest, WritesTimeLevelMessageAndFields) {
  open(LogLevel::kTrace);

  log->trace("one");
  log->debug("two");
  log->info("session closed", {{"session", 3}, {"reason", "closed by the client"}});
  log->warning("four");
  log->error("five", {{"is_last", true}});

  EXPECT_THAT(messages(),
              ElementsAre("one", "two", "session closed session=3 reason=\"closed by the client\"",
                          "four", "five is_last=true"));
  EXPECT_THAT(lines(), Each(MatchesRegex(R"(....-..-..T..:..:..\....Z [a-z]+ +[a-z].*)")));
  EXPECT_THAT(lines()[0], HasSubstr("Z trace   one"));
  EXPECT_THAT(lines()[2], HasSubstr("Z info    session"));
  EXPECT_THAT(lines()[3], HasSubstr("Z warning four"));
  EXPECT_THAT(lines()[4], HasSubstr("Z error   five"));
}

TEST_F(LogTest, WritesOneJsonObjectForEachLine) {
  open(LogLevel::kInfo, config::LogFormat::kJson);

  log->warning("say \"hi\"", {{"session", 3},
                              {"big", std::numeric_limits<std::uint64_t>::max()},
                              {"rate", 0.5},
                              {"is_open", false},
                              {"reason", "a\nb\xFF"}});

  ASSERT_THAT(lines(), SizeIs(1));
  const auto line = nlohmann::json::parse(lines()[0]);
  EXPECT_THAT(line.at("time").get<std::string>(), MatchesRegex(R"(....-..-..T..:..:..\....Z)"));
  EXPECT_EQ(line.at("level"), "warning");
  EXPECT_EQ(line.at("message"), "say \"hi\"");
  EXPECT_EQ(line.at("session"), 3);
  EXPECT_EQ(line.at("big"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(line.at("rate"), 0.5);
  EXPECT_EQ(line.at("is_open"), false);
  EXPECT_EQ(line.at("reason"), "a\nb\xEF\xBF\xBD");
}

TEST_F(LogTest, LeavesOutWhatIsBelowItsLevel) {
  open(LogLevel::kWarning);

  log->info("no");
  log->limited("key", LogLevel::kInfo, "no");
  log->warning("yes");

  EXPECT_THAT(messages(), ElementsAre("yes"));
  EXPECT_FALSE(log->is_on(LogLevel::kInfo));
  EXPECT_TRUE(log->is_on(LogLevel::kError));
}

TEST_F(LogTest, AppendsToAFileThatIsThere) {
  write_file(folder / "log", "before\n");
  open();
  log->info("after");
  EXPECT_THAT(lines(), ElementsAre("before", EndsWith("after")));
}

TEST_F(LogTest, SaysWhichFileCannotBeOpenedAndMakesNoFolder) {
  config::LogSection section;
  section.file = folder / "missing/log";

  const auto opened = Log::open(section, Log::Terminal::kNo, clock);

  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(opened.error().message, "cannot write " + section.file + ": No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(folder / "missing"));
}

TEST_F(LogTest, KeepsItsFileFromOtherUsers) {
  open();
  const auto others = std::filesystem::status(folder / "log").permissions() &
                      (std::filesystem::perms::others_all | std::filesystem::perms::group_write);
  EXPECT_EQ(others, std::filesystem::perms::none);
}

TEST_F(LogTest, WritesToStandardErrorWithoutAFileOrBesideIt) {
  ::testing::internal::CaptureStderr();
  const auto alone = Log::open({}, Log::Terminal::kNo, clock);
  ASSERT_OK(alone);
  (*alone)->info("alone");
  EXPECT_THAT(lines_of(::testing::internal::GetCapturedStderr()), ElementsAre(EndsWith("alone")));

  ::testing::internal::CaptureStderr();
  config::LogSection section;
  section.file = folder / "log";
  const auto both = Log::open(section, Log::Terminal::kToo, clock);
  ASSERT_OK(both);
  (*both)->info("both");
  EXPECT_THAT(lines_of(::testing::internal::GetCapturedStderr()), ElementsAre(EndsWith("both")));
  EXPECT_THAT(messages(), ElementsAre("both"));
}

TEST_F(LogTest, SaysOnceThatLinesAreLost) {
  config::LogSection section;
  section.file = "/dev/full";
  const auto opened = Log::open(section, Log::Terminal::kNo, clock);
  ASSERT_OK(opened);

  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 10; ++i) (*opened)->info("lost");

  EXPECT_THAT(lines_of(::testing::internal::GetCapturedStderr()),
              ElementsAre(StartsWith("deepinferd: error: a line of the log is lost")));
}

TEST_F(LogTest, LimitsTheRepeatsOfAKey) {
  open();

  for (int i = 0; i < 8; ++i) log->limited("a", LogLevel::kInfo, "repeat", {{"i", i}});
  log->limited("b", LogLevel::kInfo, "other");
  clock.advance(std::chrono::seconds(59));
  log->limited("a", LogLevel::kInfo, "repeat", {{"i", 8}});
  clock.advance(std::chrono::seconds(1));
  log->limited("a", LogLevel::kInfo, "repeat", {{"i", 9}});
  log->limited("a", LogLevel::kInfo, "repeat", {{"i", 10}});

  EXPECT_THAT(messages(),
              ElementsAre("repeat i=0", "repeat i=1", "repeat i=2", "repeat i=3", "repeat i=4",
                          "other", "repeat i=9 suppressed=4", "repeat i=10"));
}

TEST_F(LogTest, LimitsEvenWhenEveryKeyIsAnother) {
  open();
  for (int i = 0; i < 5000; ++i) log->limited(std::to_string(i), LogLevel::kInfo, "new");
  EXPECT_LT(lines().size(), 300U);
}

TEST_F(LogTest, KeepsLinesWholeWhenThreadsWriteAtOnce) {
  open();
  const std::string long_text(300, 'x');
  constexpr std::size_t kThreads = 4;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  while (threads.size() < kThreads) {
    threads.emplace_back([this, &long_text] {
      for (int i = 0; i < 200; ++i) log->info("line", {{"text", long_text}});
      for (int i = 0; i < 200; ++i) log->limited("key", LogLevel::kInfo, "few");
    });
  }
  for (std::thread& thread : threads) thread.join();

  const auto all = messages();
  EXPECT_EQ(std::count(all.begin(), all.end(), "line text=" + long_text), 800);
  EXPECT_EQ(std::count(all.begin(), all.end(), "few"), Log::kMostRepeats);
  EXPECT_THAT(all, SizeIs(805));
}

TEST(LogLine, QuotesWhatIsNotOneWord) {
  EXPECT_EQ(text_line("m", {{"path", "/run/x.sock"}, {"empty", ""}, {"two", "a b"}}),
            "m path=/run/x.sock empty=\"\" two=\"a b\"");
  EXPECT_EQ(text_line("m", {{"forged", "x y=1"}, {"quote", "a\"b\\"}}),
            R"(m forged="x y=1" quote="a\"b\\")");
  EXPECT_EQ(text_line("m", {{"equals", "a=b"}}), "m equals=\"a=b\"");
  EXPECT_EQ(text_line("m", {{"string", std::string("text")}}), "m string=text");
}

TEST(LogLine, WritesNumbersInFull) {
  EXPECT_EQ(text_line("m", {{"least", std::numeric_limits<std::int64_t>::min()},
                            {"pid", pid_t{7}},
                            {"uid", uid_t{4'294'967'295U}},
                            {"share", 0.1},
                            {"none", std::nan("")},
                            {"much", -HUGE_VAL}}),
            "m least=-9223372036854775808 pid=7 uid=4294967295 share=0.1 none=nan much=-inf");
  EXPECT_EQ(log_line(config::LogFormat::kJson, "m", {}, 12), R"("message":"m","suppressed":12)");
}

TEST(LogLine, LetsNothingThroughThatSpeaksToATerminalOrALine) {
  EXPECT_EQ(escaped("a\nb\tc\rd"), R"(a\nb\tc\u000dd)");
  EXPECT_EQ(escaped("\x1B[31m\x7F"), R"(\u001b[31m\u007f)");
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), R"(a\u0000b)");
  EXPECT_EQ(escaped("\xC2\x9B"), R"(\u009b)");  // a control sequence in one character
  EXPECT_EQ(escaped("\xE2\x80\xAE\xE2\x80\xA8"), R"(\u202e\u2028)");  // right to left; a new line
  EXPECT_EQ(escaped("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(text_line("message\nforged", {}), "message\\nforged");
}

TEST(LogLine, ReplacesBytesThatAreNotUtf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped("a\xFFz"), "a" + bad + "z");
  EXPECT_EQ(escaped("\xC0\x80"), bad + bad);            // an overlong NUL
  EXPECT_EQ(escaped("\xED\xA0\x80"), bad + bad + bad);  // a surrogate
  EXPECT_EQ(escaped("\xE2\x82"), bad + bad);            // half a character
  EXPECT_EQ(escaped("\x80\xC3\xBC\x80"), bad + "\xC3\xBC" + bad);
}

TEST(LogLine, CutsLongTextBetweenCharacters) {
  const std::string most(Log::kMaxTextBytes, 'x');
  EXPECT_EQ(text_line("m", {{"text", most}}), "m text=" + most);
  EXPECT_EQ(text_line("m", {{"text", most + "y"}}), "m text=\"" + most + "\xE2\x80\xA6\"");

  EXPECT_EQ(first_bytes("ab\xE2\x82\xAC", 4), "ab");
  EXPECT_EQ(first_bytes("ab\xE2\x82\xAC", 5), "ab\xE2\x82\xAC");
  EXPECT_EQ(first_bytes("\x80\x80\x80\x80\x80\x80", 5), "\x80\x80\x80\x80\x80");
  EXPECT_EQ(first_bytes("\xE2\x82\xAC", 0), "");
}

TEST(LogLine, IsOneLineOfJsonForAnyBytes) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  for (std::size_t i = 0; i < every.size(); ++i) {
    const std::string text = every.substr(i, 3) + every.substr(every.size() - i);
    const Field field("text", text);
    const std::string line = log_line(config::LogFormat::kJson, text, {&field, 1}, 0);
    EXPECT_TRUE(nlohmann::json::accept("{" + line + "}")) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace deepinfer::daemon
