// deepinfer-model as a user runs it: reports, exit codes, error lines, nothing half-written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "kernels/float_types.h"
#include "tests/engine/checkpoint/checkpoint_copy.h"
#include "tests/engine/checkpoint/small_file.h"
#include "tests/support/golden_file.h"

namespace deepinfer::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

class ModelCli : public ::testing::Test {
 protected:
  // `before` is shell text in front of the command, for limits.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    const fs::path out = folder_.path() / "stdout";
    const fs::path err = folder_.path() / "stderr";
    const std::string command = before + "'" DEEPINFER_MODEL "' " + arguments + " >'" +
                                out.string() + "' 2>'" + err.string() + "'";
    const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
            read_file(err)};
  }
  [[nodiscard]] std::string place(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  // A golden tiny in a folder of the test's own.
  [[nodiscard]] std::string copied(const CheckpointCopy& copy) const {
    fs::create_directory(place("copy"));
    copy.write(place("copy"));
    return place("copy");
  }
  static void expect_error_lines(const Outcome& outcome) {
    EXPECT_FALSE(outcome.err.empty());
    for (const std::string& line : lines_of(outcome.err)) {
      EXPECT_THAT(line, MatchesRegex("deepinfer: error: .+ \\(.+\\): .+"));
    }
  }

  const TempFolder folder_;
};

const std::string& golden_tiny() {
  static const std::string path = data_path("golden/tiny").string();
  return path;
}

TEST_F(ModelCli, InspectsTheReleasedModelFromItsHeaders) {
  const Outcome written = run("synth --preset full --seed 1 --sparse -o " + place("full"));
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("96,085 tensors, 510,286,023,000 bytes, 48 weight files"));
  EXPECT_FALSE(fs::exists(place("full") + "/SHA256SUMS"));

  const Outcome text = run("inspect " + place("full"));
  const Outcome json = run("inspect --json " + place("full"));

  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("510,286,023,000"));
  EXPECT_THAT(text.out, HasSubstr("96,085"));
  EXPECT_THAT(text.out, HasSubstr("3,128,352"));
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["tensors"]["total"]["tensors"], 96085);
  EXPECT_EQ(report["tensors"]["total"]["bytes"], 510286023000);
  EXPECT_EQ(report["memory"]["kv_bytes_per_token"], 890);
  EXPECT_EQ(report["memory"]["state_bytes_per_sequence"], 3128352);
  EXPECT_EQ(report["layers"].size(), 40U);
  EXPECT_EQ(report["layers"][24]["candidates"], "inside");
  EXPECT_EQ(report["layers"][25]["index_source"], 24);
}

TEST_F(ModelCli, SynthWritesASoundCheckpointThatTheSeedDetermines) {
  for (const char* name : {"a", "b"}) {
    ASSERT_EQ(run("synth --preset tiny --seed 5 -o " + place(name)).exit_code, 0);
  }
  ASSERT_EQ(run("synth --preset tiny --seed 6 -o " + place("c")).exit_code, 0);

  const Outcome verified = run("verify " + place("a"));

  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, StartsWith("sound: 2,228 tensors"));
  const std::string sums = read_file(place("a") + "/SHA256SUMS");
  EXPECT_EQ(sums, read_file(place("b") + "/SHA256SUMS"));
  EXPECT_NE(sums, read_file(place("c") + "/SHA256SUMS"));
  EXPECT_FALSE(fs::exists(place("a") + ".partial"));
}

TEST_F(ModelCli, SynthRefusesAFolderInUse) {
  fs::create_directory(place("used"));
  write_file(place("used") + "/file", "text");

  const Outcome outcome = run("synth --preset tiny --sparse -o " + place("used"));

  EXPECT_EQ(outcome.exit_code, 2);
  expect_error_lines(outcome);
  EXPECT_THAT(outcome.err, HasSubstr("exists and is not an empty folder"));
  EXPECT_EQ(read_file(place("used") + "/file"), "text");
}

TEST_F(ModelCli, SynthLeavesNothingWhenTheDiskIsFull) {
  // A limit on the size of a file stands for the disk: the write fails in the same place.
  const Outcome outcome = run("synth --preset tiny -o " + place("model"), "ulimit -f 20000; ");

  EXPECT_EQ(outcome.exit_code, 2);
  expect_error_lines(outcome);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write"));
  EXPECT_FALSE(fs::exists(place("model")));
  EXPECT_FALSE(fs::exists(place("model.partial")));
}

TEST_F(ModelCli, SynthLeavesNothingWhenItIsInterrupted) {
  const Outcome outcome =
      run("synth --preset full -o " + place("model"), "timeout --preserve-status -s INT 1 ");

  EXPECT_EQ(outcome.exit_code, 130);
  expect_error_lines(outcome);
  EXPECT_FALSE(fs::exists(place("model")));
  EXPECT_FALSE(fs::exists(place("model.partial")));
}

TEST_F(ModelCli, VerifyPassesGoldenTinyAndNano) {
  EXPECT_EQ(run("verify " + golden_tiny()).exit_code, 0);
  EXPECT_EQ(run("verify " + model_path("nano").string()).exit_code, 0);
}

TEST_F(ModelCli, VerifyNamesEveryOneOfFivePlantedDefects) {
  CheckpointCopy copy;
  copy.erase("layers.3.ffn_norm.weight");
  copy.tensor("layers.0.attn.wq_a.weight").bytes[70] = '\x7f';
  copy.tensor("layers.1.ffn.experts.2.w1.scale").bytes[3] = '\xff';
  copy.tensor("norm.weight").bytes.replace(4, 2, "\x80\x7f", 2);
  copy.small_files["tokenizer.json"] = R"({"model":{"vocab":{"a":0,"b":1}}})";

  const Outcome outcome = run("verify " + copied(copy));

  EXPECT_EQ(outcome.exit_code, 4);
  expect_error_lines(outcome);
  EXPECT_EQ(lines_of(outcome.err).size(), 5U) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the tensor is missing (layers.3.ffn_norm.weight)"));
  EXPECT_THAT(outcome.err,
              HasSubstr("1 of 32768 F8_E4M3 numbers are NaN, the first is element 70"));
  EXPECT_THAT(outcome.err, HasSubstr("1 of 768 F8_E8M0 numbers are NaN, the first is element 3"));
  EXPECT_THAT(outcome.err, HasSubstr("1 of 256 BF16 numbers are NaN or infinite, the first is "
                                     "element 2"));
  EXPECT_THAT(outcome.err, HasSubstr("vocabulary of 1280, the tokenizer 2 ids from 0 to 1"));
}

TEST_F(ModelCli, VerifyNamesBadMissingAndExtraFilesOfTheChecksums) {
  const std::string folder = copied(CheckpointCopy());
  const std::string zeros(64, '0');
  // The digest of an empty file; upper case and the mark of binary mode are allowed.
  write_file(folder + "/empty", "");
  write_file(folder + "/SHA256SUMS",
             "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855 *empty\n" + zeros +
                 "  config.json\n" + zeros + "  gone.json\nnonsense\n" + zeros + "  ../up\n");

  const Outcome outcome = run("verify --json " + folder);

  EXPECT_EQ(outcome.exit_code, 4);
  expect_error_lines(outcome);
  EXPECT_THAT(outcome.err, HasSubstr("SHA256SUMS says " + zeros + " (config.json)"));
  EXPECT_THAT(outcome.err, HasSubstr("it is missing (gone.json)"));
  EXPECT_THAT(outcome.err, HasSubstr("(SHA256SUMS:4)"));
  EXPECT_THAT(outcome.err, HasSubstr("(SHA256SUMS:5)"));
  EXPECT_THAT(outcome.err, HasSubstr("does not list this file (tokenizer.json)"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("(empty)")));
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["problems"].size(), lines_of(outcome.err).size());
}

TEST_F(ModelCli, ErrorsEscapeControlCharactersOfTheFile) {
  CheckpointCopy copy;
  copy.shards.begin()->second.tensors["evil\x1b[2J\n"] = copy.tensor("norm.weight");

  const Outcome outcome = run("verify " + copied(copy));

  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("evil\\x1b[2J\\x0a"));
}

TEST_F(ModelCli, ExportWritesTheUnpackedNumbersOfGoldenTiny) {
  const Outcome outcome = run("export --dtype bf16 " + golden_tiny() + " -o " + place("bf16"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const GoldenFile copy(place("bf16") + "/model-00001-of-00001.safetensors");
  CheckpointCopy golden;

  std::size_t weights = 0;
  for (const auto& [file, shard] : golden.shards) {
    for (const auto& [name, tensor] : shard.tensors) {
      if (tensor.dtype != "F8_E8M0") ++weights;
    }
  }
  EXPECT_EQ(copy.names().size(), weights);
  const auto code = [&](const std::string& name, std::size_t i) {
    return static_cast<std::uint8_t>(golden.tensor(name).bytes[i]);
  };

  // FP8, 32 x 32: layers.0.attn.wq_a [128, 256].
  const std::vector<float> fp8 = copy.floats("layers.0.attn.wq_a.weight");
  ASSERT_EQ(fp8.size(), 128U * 256U);
  for (std::size_t i = 0; i < fp8.size(); ++i) {
    const std::size_t block = i / 256 / 32 * 8 + i % 256 / 32;
    EXPECT_EQ(fp8[i], kernels::e4m3_to_float(code("layers.0.attn.wq_a.weight", i)) *
                          kernels::e8m0_to_float(code("layers.0.attn.wq_a.scale", block)));
  }
  // FP4, 1 x 32: layers.0.ffn.experts.0.w2 [256, 96].
  const std::vector<float> fp4 = copy.floats("layers.0.ffn.experts.0.w2.weight");
  ASSERT_EQ(fp4.size(), 256U * 96U);
  for (std::size_t i = 0; i < fp4.size(); ++i) {
    const unsigned pair = code("layers.0.ffn.experts.0.w2.weight", i / 2);
    const auto nibble = static_cast<std::uint8_t>(i % 2 == 0 ? pair & 15U : pair >> 4U);
    EXPECT_EQ(fp4[i], kernels::e2m1_to_float(nibble) *
                          kernels::e8m0_to_float(code("layers.0.ffn.experts.0.w2.scale", i / 32)));
  }
  // FP8, 1 x 32: the Engram table [630, 64].
  const std::vector<float> table = copy.floats("layers.1.engram.embed.weight");
  ASSERT_EQ(table.size(), 630U * 64U);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(table[i], kernels::e4m3_to_float(code("layers.1.engram.embed.weight", i)) *
                            kernels::e8m0_to_float(code("layers.1.engram.embed.scale", i / 32)));
  }
  EXPECT_EQ(copy.dtype("layers.0.hc_attn_fn"), "F32");
  const auto config = nlohmann::json::parse(read_file(place("bf16") + "/config.json"));
  EXPECT_FALSE(config.contains("quantization_config"));
  EXPECT_EQ(read_file(place("bf16") + "/tokenizer.json"),
            read_file(golden_tiny() + "/tokenizer.json"));
  EXPECT_TRUE(fs::exists(place("bf16") + "/SHA256SUMS"));
}

TEST_F(ModelCli, WrongUsageIsOneLineAndTwo) {
  for (const char* arguments :
       {"", "nonsense", "inspect", "inspect a b", "synth --preset huge -o x", "synth --preset tiny",
        "synth --preset tiny --seed -1 -o x", "synth --preset tiny --seed 1x -o x",
        "export --dtype f32 a -o b", "verify --fast a"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
    expect_error_lines(outcome);
    EXPECT_TRUE(outcome.out.empty());
  }
}

TEST_F(ModelCli, AFolderThatCannotBeReadIsTwoAndABadModelFour) {
  for (const char* command : {"inspect ", "verify ", "export -o /nowhere/at/all "}) {
    const Outcome missing = run(command + place("missing"));
    EXPECT_EQ(missing.exit_code, 2) << command;
    expect_error_lines(missing);
    fs::create_directories(place("empty"));
    const Outcome empty = run(command + place("empty"));
    EXPECT_EQ(empty.exit_code, 4) << command;
    expect_error_lines(empty);
  }
}

TEST_F(ModelCli, HelpAndVersionGoToStandardOutput) {
  const Outcome version = run("--version");
  const Outcome help = run("--help");
  const Outcome synth_help = run("synth --help");

  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, MatchesRegex("deepinfer-model [0-9.]+\n"));
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command : {"inspect", "verify", "synth", "export"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
  }
  EXPECT_THAT(synth_help.out, HasSubstr("--sparse"));
}

}  // namespace
}  // namespace deepinfer::test
