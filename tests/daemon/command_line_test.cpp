// What deepinferd makes of its flags, its environment and its file: to serve, or what is printed.
#include "daemon/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "tests/client/temporary_folder.h"

namespace deepinfer::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CommandLineTest : public ::testing::Test {
 protected:
  // The exit code, or nothing when the daemon is to serve.
  std::optional<int> read(std::vector<std::string> words) {
    if (has_file_) words.insert(words.begin(), {"--config", file()});
    std::vector<const char*> pointers;
    pointers.reserve(words.size());
    for (const std::string& word : words) pointers.push_back(word.c_str());
    out_.str("");
    err_.str("");
    auto read = read_command_line(pointers, {out_, err_, environment});
    if (const int* exit_code = std::get_if<int>(&read)) return *exit_code;
    order = std::get<ServeOrder>(std::move(read));
    return std::nullopt;
  }
  void write(const std::string& text) {
    write_file(file(), text);
    has_file_ = true;
  }
  [[nodiscard]] std::string file() const { return folder / "d.toml"; }
  [[nodiscard]] std::string out() const { return out_.str(); }
  [[nodiscard]] std::vector<std::string> errors() const {
    std::vector<std::string> lines;
    std::istringstream stream(err_.str());
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder;
  config::Variables environment;
  ServeOrder order;

 private:
  std::ostringstream out_;
  std::ostringstream err_;
  bool has_file_ = false;
};

TEST_F(CommandLineTest, MakesConfigurationOfFlags) {
  write("");
  EXPECT_EQ(read({"--model", "/m", "--socket", "/s.sock", "--backend", "cpu"}), std::nullopt);

  EXPECT_EQ(order.loaded.options.model.path, "/m");
  EXPECT_EQ(order.loaded.options.ipc.socket, "/s.sock");
  EXPECT_EQ(order.loaded.options.engine.backend, config::Backend::kCpu);
  EXPECT_EQ(order.loaded.origins.at("model.path"), "--model");
  EXPECT_EQ(order.terminal, Log::Terminal::kNo);
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_THAT(out(), IsEmpty());
}

TEST_F(CommandLineTest, PutsFlagBeforeEnvironmentBeforeFile) {
  write("[model]\npath = \"/file\"\n[engine]\nthreads = 1\nmax_sequences = 5\n");
  environment = {{"DEEPINFER_MODEL__PATH", "/variable"}, {"DEEPINFER_ENGINE__THREADS", "2"}};

  EXPECT_EQ(read({"--model=/flag"}), std::nullopt);

  EXPECT_EQ(order.loaded.options.model.path, "/flag");
  EXPECT_EQ(order.loaded.options.engine.threads, 2);
  EXPECT_EQ(order.loaded.options.engine.max_sequences, 5);
}

TEST_F(CommandLineTest, LogsToTheTerminalTooInTheForeground) {
  write("");
  EXPECT_EQ(read({"--model", "/m", "--foreground"}), std::nullopt);
  EXPECT_EQ(order.terminal, Log::Terminal::kToo);
}

TEST_F(CommandLineTest, NeedsAModel) {
  write("");
  EXPECT_EQ(read({}), kExitUsage);
  EXPECT_THAT(errors(),
              ElementsAre(StartsWith("deepinferd: error: no model is named (model.path): ")));
  EXPECT_EQ(read({"--model", ""}), kExitUsage);
  EXPECT_EQ(read({"--check-config"}), kExitUsage);
  EXPECT_THAT(out(), IsEmpty());
}

TEST_F(CommandLineTest, RefusesGeneratedWeights) {
  write("[model]\npath = \"synth:nano,seed=3\"\n");
  EXPECT_EQ(read({}), kExitUsage);
  EXPECT_THAT(errors(), ElementsAre(AllOf(HasSubstr("synth:nano,seed=3"), HasSubstr("d.toml:2:"),
                                          HasSubstr("deepinfer-model synth"))));
}

TEST_F(CommandLineTest, ReportsEveryProblemAtOnce) {
  write("[engine]\nthread = 1\nmax_sequences = \"many\"\n[ipc]\nring_entries = 3\n");
  environment = {{"DEEPINFER_DRAIN__GRACE", "soon"}};

  EXPECT_EQ(read({"--backend", "tpu", "--modle", "/m", "left", "-x"}), kExitUsage);

  EXPECT_THAT(
      errors(),
      ElementsAre(
          "deepinferd: error: unknown flag --modle (command line): did you mean --model?",
          "deepinferd: error: unexpected argument left (command line): see deepinferd --help",
          "deepinferd: error: unknown flag -x (command line): see deepinferd --help",
          AllOf(HasSubstr("d.toml:2:1"), HasSubstr("engine.threads")), HasSubstr("d.toml:3:"),
          HasSubstr("d.toml:5:"), HasSubstr("DEEPINFER_DRAIN__GRACE"), HasSubstr("--backend")));
}

TEST_F(CommandLineTest, ReportsWhatTheParserRefuses) {
  write("");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--model"},
                                                {"--json", "--model", "/m"},
                                                {"--foreground=perhaps", "--model", "/m"}}) {
    EXPECT_EQ(read(words), kExitUsage) << words.front();
    EXPECT_THAT(errors(), ElementsAre(AllOf(StartsWith("deepinferd: error: "),
                                            EndsWith("(command line): see deepinferd --help"))));
  }
}

TEST_F(CommandLineTest, MissesAFileThatWasNamed) {
  EXPECT_EQ(read({"--config", folder / "nothing.toml", "--model", "/m"}), kExitUsage);
  EXPECT_THAT(errors(), ElementsAre(HasSubstr("nothing.toml")));
  EXPECT_EQ(read({"--config", "", "--model", "/m"}), kExitUsage);
  EXPECT_THAT(errors(), ElementsAre(StartsWith("deepinferd: error: ")));
}

TEST_F(CommandLineTest, KeepsOneLineForEachProblemWhateverAWordHolds) {
  write("");
  EXPECT_EQ(read({"--model", "/m", "bad\nword\x1B[31m"}), kExitUsage);
  EXPECT_THAT(errors(), ElementsAre(HasSubstr("unexpected argument bad word")));
}

TEST_F(CommandLineTest, WarnsOfVariablesWithoutEffectAndServes) {
  write("");
  environment = {{"DEEPINFER_NO_SUCH_THING", "1"}};
  EXPECT_EQ(read({"--model", "/m"}), kExitUsage);
  EXPECT_THAT(errors(), ElementsAre(HasSubstr("DEEPINFER_NO_SUCH_THING")));

  ASSERT_THAT(config::ignored_variables(), ::testing::Not(IsEmpty()));
  environment = {{"DEEPINFER_" + std::string(config::ignored_variables().front()), "1"}};
  EXPECT_EQ(read({"--model", "/m"}), std::nullopt);
  EXPECT_THAT(errors(), ElementsAre(StartsWith("deepinferd: warning: ")));
}

TEST_F(CommandLineTest, PrintsTheResolvedConfiguration) {
  write("[engine]\nthreads = 1\n");
  EXPECT_EQ(read({"--check-config", "--model", "/m"}), kExitDone);
  EXPECT_THAT(out(), AllOf(HasSubstr("threads = 1"), HasSubstr("d.toml:2:"), HasSubstr("--model")));

  // What it printed is a configuration, and the same one.
  const std::string printed = out();
  write(printed);
  EXPECT_EQ(read({}), std::nullopt);
  EXPECT_EQ(order.loaded.options.model.path, "/m");
  EXPECT_EQ(order.loaded.options.engine.threads, 1);
}

TEST_F(CommandLineTest, PrintsTheResolvedConfigurationAsJson) {
  write("[drain]\ngrace = \"1500ms\"\n[ipc]\nallowed_uids = [0, 7]\n");
  EXPECT_EQ(read({"--check-config", "--json", "--model", "/m"}), kExitDone);

  const auto report = nlohmann::json::parse(out());
  EXPECT_EQ(report.at("is_valid"), true);
  const auto& values = report.at("configuration");
  EXPECT_EQ(values.at("model").at("path"),
            nlohmann::json({{"value", "/m"}, {"origin", "--model"}}));
  EXPECT_EQ(values.at("drain").at("grace").at("value"), 1.5);
  EXPECT_EQ(values.at("ipc").at("allowed_uids").at("value"), nlohmann::json({0, 7}));
  EXPECT_EQ(values.at("ipc").at("socket_mode").at("value"), "0660");
  EXPECT_EQ(values.at("ipc").at("arena_bytes").at("value"), 64 << 20);
  EXPECT_EQ(values.at("engine").at("max_batch_tokens").at("value"), 4096);
  EXPECT_EQ(values.at("log").at("level"),
            nlohmann::json({{"value", "info"}, {"origin", "default"}}));
}

TEST_F(CommandLineTest, PrintsErrorsAsJsonToo) {
  write("[engine]\nthread = 1\n");
  EXPECT_EQ(read({"--check-config", "--json", "--model", std::string("/m\xFF")}), kExitUsage);

  const auto report = nlohmann::json::parse(out());
  EXPECT_EQ(report.at("is_valid"), false);
  EXPECT_TRUE(report.at("configuration").is_null());
  EXPECT_THAT(report.at("errors").at(0).at("mend").get<std::string>(), HasSubstr("engine.threads"));
  EXPECT_EQ(errors().size(), report.at("errors").size());
}

TEST_F(CommandLineTest, ExplainsItself) {
  EXPECT_EQ(read({"--version"}), kExitDone);
  EXPECT_THAT(out(), StartsWith("deepinferd "));
  EXPECT_EQ(read({"--help", "--model", "/m"}), kExitDone);
  for (const char* flag : {"--config", "--model", "--socket", "--backend", "--check-config",
                           "--foreground", "--json", "--version"}) {
    EXPECT_THAT(out(), HasSubstr(flag));
  }
  EXPECT_THAT(errors(), IsEmpty());
}

}  // namespace
}  // namespace deepinfer::daemon
