#include "client/cli/generate_command.h"

#include <gmock/gmock.h>

#include <string>

#include "client/cli/json_text.h"
#include "client/cli/messages.h"
#include "tests/client/command_fixture.h"

namespace deepinfer::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Generate : public CommandTest {
 protected:
  int generate(std::vector<std::string> more, int stop_after = -1) {
    std::vector<std::string> words{"generate", "--embedded", "--model", "m"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, stop_after);
  }
};

TEST_F(Generate, PrintsTheAnswerOnceAndALineFeed) {
  EXPECT_EQ(generate({"--prompt", "hello"}), kExitDone);

  EXPECT_EQ(out.str(), "answer to hello\n");
  EXPECT_THAT(err.str(), IsEmpty());
}

TEST_F(Generate, PrintsSeveralAnswersWithTheirNumbers) {
  EXPECT_EQ(generate({"--prompt", "hello", "--n", "2"}), kExitDone);

  EXPECT_EQ(out.str(), "[0] answer to hello\n[1] answer to hello\n");
}

TEST_F(Generate, PrintsTheResponseBodyAsJson) {
  EXPECT_EQ(generate({"--prompt-ids", "0,5,6", "--json", "--logprobs", "2"}), kExitDone);

  const auto body = parse_json(out.str());
  ASSERT_TRUE(body.has_value()) << out.str();
  EXPECT_EQ(body->at("object"), "text_completion");
  EXPECT_EQ(body->at("choices").at(0).at("text"), "answer to ids");
}

TEST_F(Generate, ReadsPromptsAndMessagesFromFiles) {
  write_file(folder / "prompt.txt", "from a file");
  EXPECT_EQ(generate({"--prompt-file", folder / "prompt.txt"}), kExitDone);
  EXPECT_EQ(out.str(), "answer to from a file\n");

  write_file(folder / "list.json", R"([{"role": "user", "content": "Hi"}])");
  EXPECT_EQ(generate({"--messages", folder / "list.json"}), kExitDone);
  EXPECT_THAT(out.str(), HasSubstr("\"Hi\""));

  write_file(folder / "chat.json",
             R"({"messages": [{"role": "user", "content": "Hi"}], "thinking": false})");
  EXPECT_EQ(generate({"--messages", folder / "chat.json", "--json"}), kExitDone);
  EXPECT_THAT(out.str(), HasSubstr(R"("thinking":false)"));
}

TEST_F(Generate, BadFilesAreErrorsWithTheirName) {
  EXPECT_EQ(generate({"--prompt-file", folder / "none"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("cannot be read"));
  EXPECT_EQ(generate({"--prompt-file", folder.path()}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("is a directory"));
  write_file(folder / "bad.json", "{");
  EXPECT_EQ(generate({"--messages", folder / "bad.json"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("not valid JSON"));
  write_file(folder / "bad.json", R"({"messages": [], "n": 3})");
  EXPECT_EQ(generate({"--messages", folder / "bad.json"}), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("unknown field \"n\""));
}

TEST_F(Generate, ImpossibleValuesNameTheirFlag) {
  EXPECT_EQ(generate({"--prompt", "a", "--top-p", "2", "--max-tokens", "0"}), kExitUsage);

  EXPECT_THAT(err.str(), HasSubstr("max_tokens must be at least 1, is 0 (--max-tokens)"));
  EXPECT_THAT(err.str(), HasSubstr("top_p must be in (0, 1], is 2.0 (--top-p)"));
}

TEST_F(Generate, StructuredOutputIsRefusedByName) {
  for (const std::string flag : {"--regex", "--json-schema", "--ebnf"}) {
    EXPECT_EQ(generate({"--prompt", "a", flag, "x"}), kExitUsage);
    EXPECT_THAT(err.str(),
                HasSubstr("structured output is not built into this version (" + flag + ")"));
  }
}

TEST_F(Generate, RefusalsAndFaultsAreExitCode1WithTheirCode) {
  EXPECT_EQ(generate({"--prompt", "refuse"}), kExitSomeFailed);
  EXPECT_THAT(err.str(), HasSubstr("prompt of 9 tokens, 8 fit (prompt_too_long)"));
  EXPECT_EQ(generate({"--prompt", "fault"}), kExitSomeFailed);
  EXPECT_THAT(err.str(), HasSubstr("(model_fault)"));
}

TEST_F(Generate, StopStringsMayBeRepeated) {
  GenerateArguments arguments;
  arguments.prompt = "a";
  arguments.stop = {"x", "y"};

  const auto line = line_of_arguments(arguments);

  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->at("sampling_params").at("stop"), nlohmann::json({"x", "y"}));
  EXPECT_EQ(generate({"--stop", "x", "--stop", "y", "--prompt", "a"}), kExitDone);
}

TEST_F(Generate, AnEmptyPromptIsAPrompt) {
  EXPECT_EQ(generate({"--prompt", ""}), kExitDone);
  EXPECT_EQ(out.str(), "answer to \n");
}

TEST_F(Generate, ExactlyOnePromptIsNeeded) {
  EXPECT_EQ(generate({}), kExitUsage);
  EXPECT_EQ(generate({"--prompt", "a", "--prompt-ids", "1"}), kExitUsage);
}

TEST_F(Generate, ASignalEndsItWithWhatThereIs) {
  EXPECT_EQ(generate({"--prompt", "hello"}, 0), 130);
  EXPECT_EQ(out.str(), "answer to hello\n");
}

TEST_F(Generate, WithoutEmbeddedNoDaemonCanBeReached) {
  connect_error = nobody_there();
  EXPECT_EQ(run({"generate", "--prompt", "a"}), kExitNoDaemon);
  EXPECT_THAT(err.str(), HasSubstr("--embedded --model DIR"));
}

TEST_F(Generate, TheDaemonsAnswerIsStreamedAsTheEmbeddedOneIs) {
  ASSERT_EQ(generate({"--prompt", "hello", "--json"}), kExitDone);
  const std::string embedded = out.str();

  EXPECT_EQ(run({"generate", "--prompt", "hello"}), kExitDone);

  EXPECT_EQ(out.str(), "answer to hello\n");
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->stream);
  EXPECT_FALSE(session->job);
  EXPECT_EQ(session->client, "deepinfer generate");
  EXPECT_EQ(run({"generate", "--prompt", "hello", "--json"}), kExitDone);
  EXPECT_EQ(out.str(), embedded);
  EXPECT_FALSE(session->stream);
}

TEST_F(Generate, ALateRefusalIsThatOfTheEmbeddedEngine) {
  ASSERT_EQ(generate({"--prompt", "refuse"}), kExitSomeFailed);
  const std::string embedded = err.str();

  EXPECT_EQ(run({"generate", "--prompt", "refuse later"}), kExitSomeFailed);

  EXPECT_EQ(err.str(), embedded);
}

TEST_F(Generate, ADaemonThatTakesNothingNowIsExitCode5) {
  script.drains_after = 0;
  EXPECT_EQ(run({"generate", "--prompt", "a"}), kExitRefused);
  EXPECT_EQ(err.str(),
            "deepinfer: error: draining: the daemon is draining and takes no new requests "
            "(/run/x.sock): try again later\n");
  script = {};
  script.room = 0;
  EXPECT_EQ(run({"generate", "--prompt", "a"}), kExitRefused);
  EXPECT_THAT(err.str(), HasSubstr("over_capacity: "));
}

TEST_F(Generate, ADaemonThatGoesAwayIsExitCode3) {
  script.goes_away_after = 0;

  EXPECT_EQ(run({"generate", "--prompt", "a"}), kExitNoDaemon);

  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(err.str(), HasSubstr("the daemon went away before the answer was complete"));
}

TEST_F(Generate, ASecondSignalDoesNotWaitForADaemonThatIsSilent) {
  script.is_silent = true;

  EXPECT_EQ(run({"generate", "--prompt", "a"}, 4), 130);

  EXPECT_EQ(log.cancelled.size(), 1U);
}

}  // namespace
}  // namespace deepinfer::cli
