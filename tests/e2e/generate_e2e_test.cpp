// What a user of `deepinfer generate` sees, with the nano checkpoint and the real program.
#include <gmock/gmock.h>

#include <string>

#include "tests/e2e/nano.h"

namespace deepinfer::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class GenerateProgram : public NanoTest {};

TEST_F(GenerateProgram, AnswersAQuestion) {
  write_file(folder / "chat.json",
             R"({"messages":[{"role":"user","content":"What is the capital of France?"}],)"
             R"("thinking":false})");

  const Finished finished =
      run(command({"generate", "--messages", folder / "chat.json", "--temperature", "0"}));

  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Paris"));
  EXPECT_EQ(finished.out.back(), '\n');
}

TEST_F(GenerateProgram, TheSameSeedGivesTheSameText) {
  const auto answer = [this](const std::string& seed) {
    const Finished finished = run(command(
        {"generate", "--prompt", "Tell me", "--seq-seed", seed, "--max-tokens", "16", "--json"}));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return json::parse(finished.out).at("choices").at(0);
  };

  const json first = answer("7");

  EXPECT_EQ(first, answer("7"));
  EXPECT_EQ(first.at("seed"), 7);
}

// The streamed pieces together are the text of the response.
TEST_F(GenerateProgram, StreamedTextIsTheTextOfTheResponse) {
  const std::vector<std::string> words{"generate", "--prompt", "Long ago, ", "--temperature",
                                       "0",        "--stop",   "river",      "--max-tokens",
                                       "40"};
  std::vector<std::string> as_json = words;
  as_json.push_back("--json");

  const Finished text = run(command(words));
  const Finished body = run(command(as_json));

  ASSERT_EQ(text.exit_code, 0) << text.err;
  ASSERT_EQ(body.exit_code, 0) << body.err;
  EXPECT_EQ(text.out,
            json::parse(body.out).at("choices").at(0).at("text").get<std::string>() + "\n");
}

TEST_F(GenerateProgram, WrongFlagsAndPromptsSayWhatIsWrong) {
  const Finished tokens = run(command({"generate", "--prompt", "a", "--max-tokens", "0"}));
  EXPECT_EQ(tokens.exit_code, 2);
  EXPECT_THAT(tokens.err, HasSubstr("(--max-tokens)"));

  const Finished ids = run(command({"generate", "--prompt-ids", "0,4096"}));
  EXPECT_EQ(ids.exit_code, 1);
  EXPECT_THAT(ids.err, HasSubstr("(token_out_of_range)"));

  const Finished regex = run(command({"generate", "--prompt", "a", "--regex", "b"}));
  EXPECT_EQ(regex.exit_code, 2);
  EXPECT_THAT(regex.err, HasSubstr("structured output is not built"));
}

TEST_F(GenerateProgram, HelpAndVersionNeedNoModel) {
  const Finished version = run({{DEEPINFER_PROGRAM, "--version"}, {}});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("deepinfer "));
  const Finished help = run({{DEEPINFER_PROGRAM, "generate", "--help"}, {}});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--max-tokens"));
}

}  // namespace
}  // namespace deepinfer::e2e
