#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/config/lines.h"

namespace deepinfer::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The lines of problems of a file that has this text.
std::vector<std::string> problems_of(const LoadSources& sources) {
  return lines_of(load(sources).problems);
}

TEST(Load, NothingGivesTheDefaultsAndSaysSo) {
  const Loaded loaded = load({});

  EXPECT_THAT(lines_of(loaded.problems), IsEmpty());
  EXPECT_EQ(loaded.options, Options{});
  EXPECT_THAT(loaded.origins, SizeIs(20));
  for (const auto& [key, origin] : loaded.origins) EXPECT_EQ(origin, "default") << key;
}

TEST(Load, AFlagWinsOverTheEnvironmentOverTheFile) {
  const Folder folder;
  LoadSources sources;
  sources.file =
      folder.write("d.toml", "[engine]\nthreads = 1\nmax_sequences = 2\nprefill_chunk = 3\n");
  sources.environment = {{"DEEPINFER_ENGINE__MAX_SEQUENCES", "20"},
                         {"DEEPINFER_ENGINE__PREFILL_CHUNK", "30"}};
  sources.flags = {{"engine.prefill_chunk", "300", "--prefill-chunk"}};

  const Loaded loaded = load(sources);

  EXPECT_THAT(lines_of(loaded.problems), IsEmpty());
  EXPECT_EQ(loaded.options.engine, (EngineSection{Backend::kAuto, 1, 20, {}, 300}));
  EXPECT_EQ(loaded.origins.at("engine.threads"), sources.file.string() + ":2:1");
  EXPECT_EQ(loaded.origins.at("engine.max_sequences"), "DEEPINFER_ENGINE__MAX_SEQUENCES");
  EXPECT_EQ(loaded.origins.at("engine.prefill_chunk"), "--prefill-chunk");
  EXPECT_EQ(loaded.origins.at("engine.backend"), "default");
}

TEST(Load, ProblemsOfAllSourcesComeTogether) {
  const Folder folder;
  LoadSources sources;
  sources.file = folder.write("d.toml", "[engine]\nthreads = \n");
  sources.environment = {{"DEEPINFER_ENGINE__THREADS", "x"}, {"DEEPINFER_SAMPLER_FORCE_TOPK", "1"}};
  sources.flags = {{"engine.backend", "cuda", "--backend"}, {"ipc.socket", "", "--socket"}};

  const Loaded loaded = load(sources);
  const auto lines = lines_of(loaded.problems);

  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], HasSubstr("d.toml:2:11"));
  EXPECT_THAT(lines[1], HasSubstr("(environment)"));
  EXPECT_EQ(
      lines[2],
      "engine.backend = cuda: the CUDA backend is not built into this version (--backend): leave "
      "the flag out, or set it to auto");
  EXPECT_THAT(loaded.warnings, SizeIs(1));
}

TEST(Load, WhatAFlagOverridesIsStillChecked) {
  LoadSources sources;
  sources.environment = {{"DEEPINFER_ENGINE__THREADS", "x"}};
  sources.flags = {{"engine.threads", "2", "--threads"}};

  EXPECT_THAT(problems_of(sources), SizeIs(1));
}

TEST(Load, AMissingFileIsAProblemOnlyWhereItIsRequired) {
  const Folder folder;
  LoadSources sources;
  sources.file = folder.path() / "none.toml";

  EXPECT_THAT(problems_of(sources), IsEmpty());
  sources.is_file_required = true;
  ASSERT_THAT(problems_of(sources), SizeIs(1));
  EXPECT_EQ(problems_of(sources)[0], "cannot open the configuration: No such file or directory (" +
                                         sources.file.string() +
                                         "): name a file that can be read, in --config");
}

TEST(Load, WhatCannotBeReadIsAProblemEvenWhereItMayBeMissing) {
  const Folder folder;
  LoadSources sources;
  sources.file = folder.path();
  ASSERT_THAT(problems_of(sources), SizeIs(1));
  EXPECT_THAT(problems_of(sources)[0], HasSubstr("cannot read: Is a directory"));

  sources.file = folder.path() / "loop.toml";
  std::filesystem::create_symlink(sources.file, sources.file);
  ASSERT_THAT(problems_of(sources), SizeIs(1));
  EXPECT_THAT(problems_of(sources)[0], HasSubstr("cannot open"));
}

TEST(Load, AFileOfMoreThanAMebibyteIsRefused) {
  const Folder folder;
  const std::string exact((1U << 20U) - 1, '#');
  LoadSources sources;

  sources.file = folder.write("full.toml", exact + "\n");
  EXPECT_THAT(problems_of(sources), IsEmpty());
  sources.file = folder.write("over.toml", exact + "\n\n");
  ASSERT_THAT(problems_of(sources), SizeIs(1));
  EXPECT_THAT(problems_of(sources)[0], HasSubstr("more than 1048576 bytes"));
  sources.file = "/dev/zero";
  EXPECT_THAT(problems_of(sources), SizeIs(1));
}

TEST(Load, APipeIsAsGoodAsAFile) {
  const Folder folder;
  LoadSources sources;
  sources.file = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(sources.file.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(sources.file) << "[engine]\nthreads = 7\n"; });

  const Loaded loaded = load(sources);
  writer.join();

  EXPECT_EQ(loaded.options.engine.threads, 7);
}

TEST(Load, TooFewBatchTokensNameBothOrigins) {
  LoadSources sources;
  sources.environment = {{"DEEPINFER_ENGINE__MAX_SEQUENCES", "300"}};
  sources.flags = {{"engine.max_batch_tokens", "200", "--max-batch-tokens"}};

  ASSERT_THAT(problems_of(sources), SizeIs(1));
  EXPECT_EQ(
      problems_of(sources)[0],
      "engine.max_batch_tokens is 200, below engine.max_sequences, 300 (--max-batch-tokens and "
      "DEEPINFER_ENGINE__MAX_SEQUENCES): raise the first or lower the second");
}

TEST(Load, AValueThatCannotBeUsedIsNotComparedWithOthers) {
  LoadSources sources;
  sources.environment = {{"DEEPINFER_ENGINE__MAX_SEQUENCES", "8x"}};
  sources.flags = {{"engine.max_batch_tokens", "100", "--max-batch-tokens"}};

  EXPECT_THAT(problems_of(sources), SizeIs(1));
}

TEST(Load, AFlagForAKeyThatNobodyKnowsIsAProblem) {
  LoadSources sources;
  sources.flags = {{"engine.gears", "5", "--gears"}};

  EXPECT_THAT(problems_of(sources), SizeIs(1));
}

TEST(Load, TheDefaultFileIsTheSystems) {
  EXPECT_EQ(default_file(), "/etc/deepinfer/deepinferd.toml");
}

}  // namespace
}  // namespace deepinfer::config
