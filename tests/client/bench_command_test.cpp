#include "client/cli/bench_command.h"

#include <gmock/gmock.h>

#include <string>

#include "client/cli/messages.h"
#include "tests/client/command_fixture.h"

namespace deepinfer::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Bench : public CommandTest {
 protected:
  // An executable file.
  void write_program(const std::string& name) {
    std::filesystem::create_directories((folder / name).parent_path());
    write_file(folder / name, "#!/bin/sh\n");
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  }
};

TEST_F(Bench, BecomesTheProgramBesideThisOneWithAllWordsAfterItsName) {
  write_program("bin/deepinfer-bench-ipc");
  write_program("other/deepinfer-bench-ipc");
  program_folder = folder / "bin";
  environment = {{"PATH", folder / "other"}};

  EXPECT_EQ(run({"bench", "ipc", "--rounds", "3", "batch", "--help"}), kExitUsage);

  EXPECT_THAT(became, ElementsAre((folder / "bin/deepinfer-bench-ipc").string(),
                                  "deepinfer-bench-ipc", "--rounds", "3", "batch", "--help"));
  EXPECT_THAT(err.str(), HasSubstr("cannot be run: Exec format error"));
}

TEST_F(Bench, OrTheFirstOneInThePath) {
  write_program("b/deepinfer-bench-ipc");
  write_program("c/deepinfer-bench-ipc");
  std::filesystem::create_directories(folder / "a/deepinfer-bench-ipc");  // a folder is none
  program_folder = folder / "a";
  environment = {{"PATH", (folder / "a").string() + "::" + (folder / "b").string() + ":" +
                              (folder / "c").string()}};

  static_cast<void>(run({"bench", "ipc"}));

  EXPECT_THAT(became,
              ElementsAre((folder / "b/deepinfer-bench-ipc").string(), "deepinfer-bench-ipc"));
}

TEST_F(Bench, AProgramThatIsNotThereIsWrongUsageWithHowToBuildIt) {
  EXPECT_EQ(run({"bench", "ipc"}), kExitUsage);

  EXPECT_THAT(became, IsEmpty());
  EXPECT_THAT(err.str(), HasSubstr("no program deepinfer-bench-ipc"));
  EXPECT_THAT(err.str(), HasSubstr("--target deepinfer-bench-ipc"));
}

TEST_F(Bench, ANameIsNoPathAndIsNeeded) {
  for (const std::string name : {"../ipc", "/bin/sh", "a b", "-x"}) {
    EXPECT_EQ(run({"bench", name}), kExitUsage);
    EXPECT_THAT(became, IsEmpty());
  }
  EXPECT_EQ(run({"bench"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("no benchmark is named"));
}

}  // namespace
}  // namespace deepinfer::cli
