#include "client/cli/record_file.h"

#include <csignal>
#include <string>

#include <sys/resource.h>

#include "client/cli/run_state.h"
#include "tests/client/temporary_folder.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::cli {
namespace {

using ::testing::HasSubstr;

// Files of this process may grow to so many bytes; as before when it goes.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    static_cast<void>(std::signal(SIGXFSZ, handler_));
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(RecordFile, ARecordThatDoesNotFitIsCutOffAgain) {
  const TemporaryFolder folder;
  auto file = RecordFile::create(folder / "out.partial");
  ASSERT_OK(file);
  ASSERT_OK(file->write("first\n"));

  {
    const FileLimit limit(10);
    const Status failed = file->write("second\n");
    ASSERT_FALSE(failed.has_value());
    EXPECT_THAT(failed.error().message, HasSubstr("File too large"));
    EXPECT_THAT(failed.error().message, HasSubstr("--resume"));
  }

  EXPECT_EQ(content_of(folder / "out.partial"), "first\n");
}

TEST(RecordFile, ReopeningCutsWhatIsNotKept) {
  const TemporaryFolder folder;
  write_file(folder / "out.partial", "first\nsec");

  auto file = RecordFile::reopen(folder / "out.partial", 6);
  ASSERT_OK(file);
  ASSERT_OK(file->write("third\n"));

  EXPECT_EQ(content_of(folder / "out.partial"), "first\nthird\n");
}

TEST(RecordFile, PublishingMovesItToItsName) {
  const TemporaryFolder folder;
  auto file = RecordFile::create(folder / "out.partial");
  ASSERT_OK(file);
  ASSERT_OK(file->write("first\n"));

  ASSERT_OK(file->publish(folder / "out"));

  EXPECT_EQ(content_of(folder / "out"), "first\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.partial"));
}

TEST(RecordFile, AFileThatExistsIsNotCreatedAgain) {
  const TemporaryFolder folder;
  write_file(folder / "out.partial", "mine");

  EXPECT_FAILS(RecordFile::create(folder / "out.partial"), ErrorCode::kInvalidArgument);
}

TEST(RunState, ASecondRunOfTheSameOutputIsRefused) {
  const TemporaryFolder folder;
  const RunIdentity identity{5, 7, "m", "1/1"};
  const auto first = RunState::create(folder / "s", identity);
  ASSERT_OK(first);

  const auto second = RunState::reopen(folder / "s", identity);

  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr("another deepinfer is writing"));
}

TEST(RunState, AnotherModelIsRefused) {
  const TemporaryFolder folder;
  const RunIdentity identity{5, 7, "m", "1/1"};
  ASSERT_OK(RunState::create(folder / "s", identity));

  RunIdentity other = identity;
  other.model = "n";

  EXPECT_TRUE(RunState::reopen(folder / "s", identity).has_value());
  EXPECT_FAILS(RunState::reopen(folder / "s", other), ErrorCode::kInvalidArgument);
}

TEST(RunState, ADamagedStateIsRefused) {
  const TemporaryFolder folder;
  write_file(folder / "s", "{");

  EXPECT_FAILS(RunState::reopen(folder / "s", {}), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::cli
