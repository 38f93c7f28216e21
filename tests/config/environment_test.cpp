#include "config/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/settings.h"
#include "tests/config/lines.h"

namespace deepinfer::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The one problem that a single variable gives.
std::string problem_of(const std::string& name, const std::string& value) {
  const auto lines = lines_of(read_environment({{name, value}}).problems);
  return lines.size() == 1 ? lines.front() : std::to_string(lines.size()) + " problems";
}

TEST(Environment, SetsEveryKeyThatThisVersionApplies) {
  const EnvironmentReport report = read_environment({
      {"DEEPINFER_MODEL__PATH", "/models/nano"},
      {"DEEPINFER_MODEL__MAX_CONTEXT", "2048"},
      {"DEEPINFER_ENGINE__THREADS", "3"},
      {"DEEPINFER_ENGINE__MAX_SEQUENCES", "8"},
      {"DEEPINFER_ENGINE__MAX_BATCH_TOKENS", "64"},
      {"DEEPINFER_ENGINE__PREFILL_CHUNK", "17"},
      {"DEEPINFER_SAMPLING__LOGPROBS_MODE", "processed"},
      {"PATH", "/usr/bin"},
  });

  EXPECT_THAT(lines_of(report.problems), IsEmpty());
  EXPECT_EQ(report.options.model.path, "/models/nano");
  EXPECT_EQ(report.options.model.max_context, 2048);
  EXPECT_EQ(report.options.engine.threads, 3);
  EXPECT_EQ(report.options.engine.max_sequences, 8);
  EXPECT_EQ(max_batch_tokens(report.options.engine), 64);
  EXPECT_EQ(report.options.engine.prefill_chunk, 17);
  EXPECT_EQ(report.options.sampling.logprobs_mode, LogprobsMode::kProcessed);
}

TEST(Environment, SetsWhatTheDaemonIsToldToo) {
  const EnvironmentReport report = read_environment({
      {"DEEPINFER_IPC__SOCKET", "/run/x.sock"},
      {"DEEPINFER_IPC__ALLOWED_UIDS", "root, 1000"},
      {"DEEPINFER_IPC__ALLOWED_GIDS", ""},
      {"DEEPINFER_IPC__SOCKET_MODE", "0600"},
      {"DEEPINFER_IPC__ARENA_BYTES", "1GiB"},
      {"DEEPINFER_DRAIN__GRACE", "2"},
      {"DEEPINFER_LOG__LEVEL", "warning"},
      {"DEEPINFER_JOBS__DURABLE_DEFAULT", "none"},
  });

  EXPECT_THAT(lines_of(report.problems), IsEmpty());
  EXPECT_EQ(report.options.ipc.socket, "/run/x.sock");
  EXPECT_THAT(report.options.ipc.allowed_uids, ::testing::ElementsAre(0, 1000));
  EXPECT_THAT(report.options.ipc.allowed_gids, IsEmpty());
  EXPECT_EQ(report.options.ipc.socket_mode, 0600U);
  EXPECT_EQ(report.options.ipc.arena_bytes, 1 << 30);
  EXPECT_EQ(report.options.drain.grace, std::chrono::seconds(2));
  EXPECT_EQ(report.options.log.level, LogLevel::kWarning);
}

TEST(Environment, AnEmptyOneGivesTheDefaults) {
  const EnvironmentReport report = read_environment({});

  EXPECT_THAT(lines_of(report.problems), IsEmpty());
  EXPECT_EQ(max_batch_tokens(report.options.engine), 4096);
}

TEST(Environment, RoomForEverySequenceIsPartOfTheDefault) {
  const auto report = read_environment({{"DEEPINFER_ENGINE__MAX_SEQUENCES", "5000"}});

  EXPECT_THAT(lines_of(report.problems), IsEmpty());
  EXPECT_EQ(max_batch_tokens(report.options.engine), 5000);
}

TEST(Environment, TooFewBatchTokensAreRefusedWithBothNumbers) {
  const std::string problem = problem_of("DEEPINFER_ENGINE__MAX_BATCH_TOKENS", "100");

  EXPECT_THAT(problem, HasSubstr("100"));
  EXPECT_THAT(problem, HasSubstr("256"));
}

TEST(Environment, ValuesThatAskForNothingMoreAreAccepted) {
  const EnvironmentReport report = read_environment({
      {"DEEPINFER_USE_NEXTN_DECODE", "0"},
      {"DEEPINFER_ENABLE_MTP_VARLEN", "off"},
      {"DEEPINFER_YOCO_PREFILL_TRUNCATION_MODE", "off"},
      {"DEEPINFER_BATCH_INVARIANT", "yes"},
      {"DEEPINFER_ZERO_OVERHEAD_SCHEDULING", "False"},
      {"DEEPINFER_ENFORCE_EAGER", "1"},
      {"DEEPINFER_ENGRAM_FORCE_GPU_STORAGE", "0"},
      {"DEEPINFER_DECODE_TOKEN_BLACKLIST", ""},
      {"DEEPINFER_ENGINE__BACKEND", "cpu"},
      {"DEEPINFER_CACHE__BLOCK_TOKENS", "128"},
  });

  EXPECT_THAT(lines_of(report.problems), IsEmpty());
  EXPECT_THAT(lines_of(report.warnings), IsEmpty());
}

TEST(Environment, PartsThatAreNotBuiltAreRefusedByName) {
  EXPECT_EQ(problem_of("DEEPINFER_USE_NEXTN_DECODE", "5"),
            "DEEPINFER_USE_NEXTN_DECODE=5: speculative decoding is not built into this version "
            "(environment): unset it, or set it to 0");
  EXPECT_EQ(problem_of("DEEPINFER_ENFORCE_EAGER", "0"),
            "DEEPINFER_ENFORCE_EAGER=0: the CUDA backend is not built into this version "
            "(environment): unset it, or set it to 1");
  EXPECT_THAT(problem_of("DEEPINFER_XGRAMMAR_TIMEOUT", "20"), HasSubstr("structured output"));
  EXPECT_THAT(problem_of("DEEPINFER_ENGINE__BACKEND", "cuda"), HasSubstr("CUDA backend"));
  EXPECT_THAT(problem_of("DEEPINFER_ENGINE__CUDA_GRAPHS", "1"), HasSubstr("CUDA backend"));
  EXPECT_THAT(problem_of("DEEPINFER_BATCH_INVARIANT", "0"), HasSubstr("batch invariant"));
  EXPECT_THAT(problem_of("DEEPINFER_JOBS__STATE_DIR", "/var"), HasSubstr("jobs on disk"));
  EXPECT_THAT(problem_of("DEEPINFER_JOBS__DURABLE_DEFAULT", "power"), HasSubstr("jobs on disk"));
  EXPECT_THAT(problem_of("DEEPINFER_METRICS__LISTEN", "/run/m"), HasSubstr("metrics"));
  EXPECT_THAT(problem_of("DEEPINFER_HOOKS__BALANCER", "/b.so"), HasSubstr("components"));
}

TEST(Environment, EveryKnownSettingIsAppliedOrRefusedNeverUnknown) {
  for (const Setting& setting : known_settings()) {
    const auto report = read_environment({{variable_of_key(setting.key), "value of a test"}});
    for (const std::string& line : lines_of(report.problems)) {
      EXPECT_THAT(line, ::testing::Not(HasSubstr("unknown variable"))) << setting.key;
    }
  }
}

TEST(Environment, NamesOfTheReferenceEngineWithoutMeaningHereWarnOnce) {
  const auto report = read_environment({{"DEEPINFER_SAMPLER_FORCE_TOPK", "20"}});

  EXPECT_THAT(lines_of(report.problems), IsEmpty());
  ASSERT_THAT(report.warnings, SizeIs(1));
  EXPECT_EQ(to_line(report.warnings.front()),
            "DEEPINFER_SAMPLER_FORCE_TOPK has no effect here (environment): unset it");
}

TEST(Environment, UnknownNamesAreErrorsWithTheNearestKnownOne) {
  EXPECT_EQ(problem_of("DEEPINFER_ENGINE__THREAD", "2"),
            "unknown variable DEEPINFER_ENGINE__THREAD (environment): did you mean "
            "DEEPINFER_ENGINE__THREADS?");
  EXPECT_THAT(problem_of("DEEPINFER_COLOUR", "red"), HasSubstr("configuration.md"));
}

TEST(Environment, WrongValuesSayWhatIsExpected) {
  EXPECT_THAT(problem_of("DEEPINFER_ENGINE__THREADS", "many"), HasSubstr("a whole number"));
  EXPECT_THAT(problem_of("DEEPINFER_ENGINE__THREADS", "-1"), HasSubstr("0 to 1024"));
  EXPECT_THAT(problem_of("DEEPINFER_ENGINE__THREADS", ""), HasSubstr("a whole number"));
  EXPECT_THAT(problem_of("DEEPINFER_SAMPLING__LOGPROBS_MODE", "cooked"),
              HasSubstr("raw|processed"));
  EXPECT_THAT(problem_of("DEEPINFER_BATCH_INVARIANT", "perhaps"), HasSubstr("on/off"));
  EXPECT_THAT(problem_of("DEEPINFER_YOCO_PREFILL_TRUNCATION_MODE", "soft"),
              HasSubstr("off|mask|compact|exact"));
  EXPECT_THAT(problem_of("DEEPINFER_MODEL__PATH", "/caf\xE9"), HasSubstr("UTF-8"));
  EXPECT_THAT(problem_of("DEEPINFER_IPC__ALLOWED_UIDS", "0,,1"), HasSubstr("a comma between"));
}

TEST(Environment, AKeySetByBothItsNamesIsAConflict) {
  const auto report = read_environment(
      {{"DEEPINFER_USE_NEXTN_DECODE", "0"}, {"DEEPINFER_SPECULATIVE__MAX_DRAFT", "0"}});

  ASSERT_THAT(report.problems, SizeIs(1));
  EXPECT_THAT(to_line(report.problems.front()), HasSubstr("speculative.max_draft"));
}

TEST(Environment, AllProblemsAreReportedAtOnce) {
  const auto report = read_environment({{"DEEPINFER_ENGINE__THREADS", "x"},
                                        {"DEEPINFER_NONSENSE", "1"},
                                        {"DEEPINFER_USE_NEXTN_DECODE", "3"}});

  EXPECT_THAT(report.problems, SizeIs(3));
}

TEST(Environment, AMessageStaysOnOneLineWhateverTheValueHolds) {
  const std::string problem = problem_of("DEEPINFER_ENGINE__THREADS", "1\n2");

  EXPECT_EQ(problem.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::config
