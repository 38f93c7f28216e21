#include "config/toml_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/config/lines.h"

namespace deepinfer::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string problem_of(const std::string& text) {
  const auto lines = lines_of(read_toml(text).problems);
  return lines.size() == 1 ? lines.front() : std::to_string(lines.size()) + " problems";
}

TEST(TomlSettings, SetsEveryKeyThatThisVersionApplies) {
  const Assignments state = read_toml(R"(
[model]
path = "/models/nano"
max_context = 2048
[engine]
backend = "cpu"
threads = 3
max_sequences = 8
max_batch_tokens = 64
prefill_chunk = 17
[sampling]
logprobs_mode = "processed"
[ipc]
socket = "/run/x.sock"
ring_entries = 1024
arena_bytes = "1GiB"
max_clients = 2
allowed_uids = [1000, "root"]
allowed_gids = ["root", 7]
socket_mode = "0600"
[jobs]
max_queued = 5
[drain]
grace = "90s"
[log]
level = "debug"
format = "json"
file = "/var/log/d.log"
)");
  const Options& options = state.options;

  EXPECT_THAT(lines_of(state.problems), IsEmpty());
  EXPECT_EQ(options.model, (ModelSection{"/models/nano", 2048}));
  EXPECT_EQ(options.engine, (EngineSection{Backend::kCpu, 3, 8, 64, 17}));
  EXPECT_EQ(options.sampling.logprobs_mode, LogprobsMode::kProcessed);
  EXPECT_EQ(options.ipc, (IpcSection{"/run/x.sock", 1024, 1LL << 30, 2, {1000, 0}, {0, 7}, 0600}));
  EXPECT_EQ(options.jobs.max_queued, 5);
  EXPECT_EQ(options.drain.grace, std::chrono::seconds(90));
  EXPECT_EQ(options.log, (LogSection{LogLevel::kDebug, LogFormat::kJson, "/var/log/d.log"}));
  EXPECT_EQ(state.origins.at("engine.threads"), "f:7:1");
  EXPECT_EQ(state.origins.at("log.file"), "f:28:1");
}

TEST(TomlSettings, SizesAndTimesAreNumbersOrText) {
  EXPECT_EQ(read_toml("[ipc]\narena_bytes = 131072").options.ipc.arena_bytes, 131072);
  EXPECT_EQ(read_toml("[ipc]\narena_bytes = '128KiB'").options.ipc.arena_bytes, 131072);
  EXPECT_EQ(read_toml("[drain]\ngrace = 2").options.drain.grace, std::chrono::seconds(2));
  EXPECT_EQ(read_toml("[drain]\ngrace = 0.5").options.drain.grace, std::chrono::milliseconds(500));
  EXPECT_EQ(read_toml("[drain]\ngrace = '0s'").options.drain.grace, std::chrono::seconds(0));
}

TEST(TomlSettings, DottedKeysAndInlineTablesAreTheSameSections) {
  EXPECT_EQ(read_toml("engine.threads = 4").options.engine.threads, 4);
  EXPECT_EQ(read_toml("engine = {threads = 4}").options.engine.threads, 4);
}

TEST(TomlSettings, ByteOrderMarksAndCarriageReturnsAreNoProblem) {
  EXPECT_EQ(read_toml("\xEF\xBB\xBF[engine]\r\nthreads = 4\r\n").options.engine.threads, 4);
}

TEST(TomlSettings, UnknownKeysNameTheNearestOne) {
  EXPECT_EQ(problem_of("[engine]\nthread = 4"),
            "unknown key engine.thread (f:2:1): did you mean engine.threads?");
  EXPECT_EQ(problem_of("[engine]\n  ring_entries = 4"),
            "unknown key engine.ring_entries (f:2:3): did you mean ipc.ring_entries?");
  EXPECT_EQ(problem_of("threads = 4"),
            "unknown key threads outside of every section (f:1:1): did you mean engine.threads?");
  EXPECT_EQ(problem_of("[engine]\nxylophone_music = 4"),
            "unknown key engine.xylophone_music (f:2:1): remove it; "
            "docs/reference/configuration.md lists the known ones");
  EXPECT_THAT(problem_of("\"engine.threads\" = 4"), StartsWith("unknown key engine.threads"));
}

TEST(TomlSettings, UnknownSectionsNameTheNearestOne) {
  EXPECT_EQ(problem_of("[engin]\nthreads = 4\nx = 1"),
            "unknown section [engin] (f:1:2): did you mean [engine]?");
  EXPECT_THAT(problem_of("[colours]"), HasSubstr("configuration.md"));
}

TEST(TomlSettings, ASectionIsATable) {
  EXPECT_EQ(problem_of("engine = 4"),
            "engine: expected a table, got an integer (f:1:10): write [engine] above its keys");
  EXPECT_THAT(problem_of("[[engine]]\nthreads = 4"), HasSubstr("expected a table, got an array"));
}

TEST(TomlSettings, WrongTypesNameBoth) {
  EXPECT_EQ(
      problem_of("[engine]\nthreads = \"many\""),
      "engine.threads: expected an integer, got a string, \"many\" (f:2:11): give it a value of "
      "that type, or remove it");
  EXPECT_THAT(problem_of("[engine]\nthreads = 1.5"), HasSubstr("got a float, 1.5"));
  EXPECT_THAT(problem_of("[engine]\nthreads = true"), HasSubstr("got a boolean"));
  EXPECT_THAT(problem_of("[engine]\nthreads = [1]"), HasSubstr("got an array"));
  EXPECT_THAT(problem_of("[engine]\nthreads = {a = 1}"), HasSubstr("got a table"));
  EXPECT_THAT(problem_of("[engine]\nthreads = 2026-12-01"), HasSubstr("got a date"));
  EXPECT_THAT(problem_of("[engine]\nbatch_invariant = 'yes'"),
              HasSubstr("a boolean, got a string"));
  EXPECT_THAT(problem_of("[engine]\nbatch_invariant = 2"), HasSubstr("a boolean, got an integer"));
  EXPECT_THAT(problem_of("[model]\npath = 3"), HasSubstr("a string, got an integer, 3"));
  EXPECT_THAT(problem_of("[log]\nlevel = 3"), HasSubstr("trace|debug|info|warning|error"));
  EXPECT_THAT(problem_of("[ipc]\narena_bytes = 1.5"), HasSubstr("a size"));
  EXPECT_THAT(problem_of("[drain]\ngrace = false"), HasSubstr("a time"));
  EXPECT_THAT(problem_of("[ipc]\nsocket_mode = 660"), HasSubstr("\"0660\", got an integer, 660"));
  EXPECT_THAT(problem_of("[ipc]\nallowed_uids = 1000"), HasSubstr("an array of user names"));
  EXPECT_THAT(problem_of("[ipc]\nallowed_gids = [1.5]"), HasSubstr("an array with a float, 1.5"));
  EXPECT_THAT(problem_of("[ipc]\nallowed_uids = ['a,b']"), HasSubstr("array with a string"));
}

TEST(TomlSettings, WrongValuesSayWhatIsExpected) {
  EXPECT_EQ(
      problem_of("[engine]\nthreads = -1"),
      "engine.threads: expected 0 to 1024, got -1 (f:2:11): set it to such a value, or remove it");
  EXPECT_THAT(problem_of("[ipc]\nring_entries = 3"), HasSubstr("a power of two, got 3"));
  EXPECT_THAT(problem_of("[ipc]\nring_entries = 1"), HasSubstr("2 to 16384"));
  EXPECT_THAT(problem_of("[ipc]\nring_entries = 32768"), HasSubstr("2 to 16384"));
  EXPECT_THAT(problem_of("[ipc]\narena_bytes = 65537"), HasSubstr("whole pages"));
  EXPECT_THAT(problem_of("[ipc]\narena_bytes = '32KiB'"), HasSubstr("65536 to 68719476736"));
  EXPECT_THAT(problem_of("[ipc]\narena_bytes = '1024GiB'"), HasSubstr("65536 to 68719476736"));
  EXPECT_THAT(problem_of("[ipc]\narena_bytes = '64MB'"), HasSubstr("KiB, MiB or GiB"));
  EXPECT_THAT(problem_of("[ipc]\nmax_clients = 0"), HasSubstr("1 to 65536"));
  EXPECT_THAT(problem_of("[ipc]\nsocket_mode = '0888'"), HasSubstr("octal"));
  EXPECT_THAT(problem_of("[ipc]\nsocket_mode = '07777'"), HasSubstr("octal"));
  EXPECT_THAT(problem_of("[ipc]\nallowed_uids = [-1]"), HasSubstr("0 to 4294967294"));
  EXPECT_THAT(problem_of("[ipc]\nallowed_uids = ['no such user']"), HasSubstr("no user is named"));
  EXPECT_THAT(problem_of("[ipc]\nallowed_gids = ['no such one']"), HasSubstr("no group is named"));
  EXPECT_THAT(problem_of("[ipc]\nsocket = \"a\\u0000b\""), HasSubstr("without NUL"));
  EXPECT_THAT(problem_of("[jobs]\nmax_queued = 0"), HasSubstr("1 to"));
  EXPECT_THAT(problem_of("[drain]\ngrace = -1"), HasSubstr("a time"));
  EXPECT_THAT(problem_of("[drain]\ngrace = '5 minutes'"), HasSubstr("ms, s, min or h"));
  EXPECT_THAT(problem_of("[log]\nlevel = 'loud'"), HasSubstr("one of trace|debug|"));
}

TEST(TomlSettings, ASocketsPathFitsItsAddress) {
  const std::string longest = "/" + std::string(106, 's');

  EXPECT_EQ(read_toml("[ipc]\nsocket = '" + longest + "'").options.ipc.socket, longest);
  EXPECT_THAT(problem_of("[ipc]\nsocket = '" + longest + "s'"),
              HasSubstr("at most 107 bytes, got 108"));
}

TEST(TomlSettings, PartsThatAreNotBuiltAreRefusedByName) {
  EXPECT_EQ(
      problem_of("[engine]\nbackend = 'cuda'"),
      "engine.backend = cuda: the CUDA backend is not built into this version (f:2:11): remove "
      "it, or set it to auto");
  EXPECT_EQ(problem_of("[jobs]\ndurable_default = 'power'"),
            "jobs.durable_default = power: keeping jobs on disk is not built into this version "
            "(f:2:19): remove it, or set it to none");
  EXPECT_THAT(problem_of("[metrics]\nlisten = '127.0.0.1:9000'"), HasSubstr("not built"));
  EXPECT_THAT(problem_of("[hooks]\nbalancer = '/usr/lib/b.so'"), HasSubstr("not built"));
  EXPECT_THAT(problem_of("[hooks.kv_provider]\npath = 'x'"), HasSubstr("not built"));
  EXPECT_THAT(problem_of("[speculative]\nconfidence_temperature = [1, 0.9]"),
              HasSubstr("not built"));
}

TEST(TomlSettings, ValuesThatAskForNothingMoreAreAccepted) {
  const Assignments state = read_toml(R"(
[engine]
cuda_graphs = false
batch_invariant = true
first_token_wait = 0
[cache]
block_tokens = 128
reuse = "off"
[speculative]
max_draft = 0
confidence_temperature = 1.0
[jobs]
durable_default = "none"
)");

  EXPECT_THAT(lines_of(state.problems), IsEmpty());
  EXPECT_EQ(state.options, Options{});
}

TEST(TomlSettings, AllProblemsAreReportedInTheOrderOfTheText) {
  const auto problems = read_toml(
                            "[log]\nlevel = 1\n[engine]\nthreads = 'x'\nprefil_chunk = 3\n[nope]\n"
                            "[cache]\nreuse = 'canonical'\n")
                            .problems;

  ASSERT_THAT(problems, SizeIs(5));
  EXPECT_EQ(problems[0].where, "f:2:9");
  EXPECT_EQ(problems[1].where, "f:4:11");
  EXPECT_EQ(problems[2].where, "f:5:1");
  EXPECT_EQ(problems[3].where, "f:6:2");
  EXPECT_EQ(problems[4].where, "f:8:9");
}

TEST(TomlSettings, TextThatIsNotTomlIsOneProblemWithItsPlace) {
  EXPECT_EQ(
      problem_of("[engine]\nthreads = \n"),
      "not TOML, key-value pair: expected value, saw '\\n' (f:2:11): mend this place and check "
      "again: what follows was not read");
  EXPECT_THAT(problem_of("[engine]\nthreads = 1\nthreads = 2\n"), HasSubstr("cannot redefine"));
}

TEST(TomlSettings, LongValuesAreCutInMessages) {
  const std::string problem = problem_of("[log]\nlevel = '" + std::string(100'000, 'x') + "'");

  EXPECT_LT(problem.size(), 1000U);
}

TEST(TomlSettings, AMessageStaysOnOneLineAndSendsNothingToTheTerminal) {
  const std::string problem = problem_of("[engine]\n\"a\\nb\\u001b[2J\" = 1");

  EXPECT_EQ(problem.find_first_of("\n\x1B"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::config
