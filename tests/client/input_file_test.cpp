#include "client/cli/input_file.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/client/temporary_folder.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class Input : public ::testing::Test {
 protected:
  // Number and text of every line.
  std::vector<std::pair<std::int64_t, std::string>> lines_of(const std::string& text,
                                                             std::size_t longest = kLongestLine) {
    write_file(folder_ / "in", text);
    auto file = InputFile::open(folder_ / "in", longest);
    std::vector<std::pair<std::int64_t, std::string>> lines;
    InputFile::Line line;
    while (*file->next(line) == InputFile::Outcome::kLine) {
      lines.emplace_back(line.number, line.is_too_long ? "TOO LONG" : std::string(line.text));
    }
    fingerprint_ = file->fingerprint();
    return lines;
  }

  TemporaryFolder folder_;
  std::uint64_t fingerprint_ = 0;
};

TEST_F(Input, CountsBlankLinesButDoesNotReturnThem) {
  EXPECT_THAT(lines_of("a\n\n \t\r\nb"), ElementsAre(Pair(1, "a"), Pair(4, "b")));
}

TEST_F(Input, LineEndsMayBeThoseOfWindows) {
  EXPECT_THAT(lines_of("a\r\nb\r\n"), ElementsAre(Pair(1, "a"), Pair(2, "b")));
}

TEST_F(Input, SkipsAByteOrderMarkAtTheStartOnly) {
  EXPECT_THAT(lines_of("\xEF\xBB\xBF"
                       "a\n\xEF\xBB\xBF"
                       "b"),
              ElementsAre(Pair(1, "a"), Pair(2,
                                             "\xEF\xBB\xBF"
                                             "b")));
}

TEST_F(Input, ALineBeyondTheLimitIsSaidToBeTooLongAndTheNextOneIsRead) {
  EXPECT_THAT(lines_of("12345\n123456\nb\n", 5),
              ElementsAre(Pair(1, "12345"), Pair(2, "TOO LONG"), Pair(3, "b")));
}

TEST_F(Input, LinesAcrossTheReadBufferAreWhole) {
  const std::string large(3'000'000, 'x');

  EXPECT_THAT(lines_of(large + "\nb"), ElementsAre(Pair(1, large), Pair(2, "b")));
}

TEST_F(Input, TheFingerprintTellsOneFileFromAnother) {
  static_cast<void>(lines_of("a\nb\n"));
  const std::uint64_t first = fingerprint_;
  static_cast<void>(lines_of("a\nc\n"));
  EXPECT_NE(fingerprint_, first);
  static_cast<void>(lines_of("a\nb\n"));
  EXPECT_EQ(fingerprint_, first);
}

TEST_F(Input, OnlyRegularFilesAreRead) {
  EXPECT_FAILS(InputFile::open(folder_.path()), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(InputFile::open(folder_ / "none"), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(InputFile::open("/dev/null"), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::cli
