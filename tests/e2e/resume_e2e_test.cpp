// A batch that is killed, and one that is told to stop: what is on the disk, and what --resume does.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <thread>

#include "tests/e2e/nano.h"

namespace deepinfer::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kRequests = 60;

class Interrupted : public NanoTest {
 protected:
  Interrupted() {
    std::string text;
    const auto items = heldout("extraction");
    for (int i = 0; i < kRequests; ++i) {
      const json line = {
          {"custom_id", "r" + std::to_string(i)},
          {"messages", items.at(static_cast<std::size_t>(i)).at("messages")},
          {"sampling_params", {{"temperature", 0}, {"thinking", false}, {"max_tokens", 60}}}};
      text += line.dump() + "\n";
    }
    write_input(text + R"({"custom_id":"bad","prompt":5})" + "\n");
  }

  // Few at a time, so that records come one after the other.
  [[nodiscard]] Invocation slow_batch(std::vector<std::string> more = {}) const {
    Invocation invocation = batch(std::move(more));
    invocation.environment = {{"DEEPINFER_ENGINE__MAX_SEQUENCES", "2"},
                              {"DEEPINFER_ENGINE__THREADS", "1"}};
    return invocation;
  }

  // Until some records are on the disk; false when the program ended first.
  [[nodiscard]] bool wait_for_records(Program& program, std::int64_t count) const {
    while (!program.has_ended()) {
      const std::string text = content_of(folder / "out.jsonl.partial");
      if (std::count(text.begin(), text.end(), '\n') >= count) return true;
      // Another process is at work; there is no clock of ours to move.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  // Whole records of a file that may end in a torn one.
  [[nodiscard]] std::string whole_part(const std::string& name) const {
    const std::string text = content_of(folder / name);
    return text.substr(0, text.rfind('\n') + 1);
  }

  // Resumes, and checks that what was finished before is neither changed nor run again.
  void expect_resumed(const std::string& before) {
    const Finished finished = run(slow_batch({"--resume", "--json"}));

    EXPECT_EQ(finished.exit_code, 1) << finished.err;
    const auto output = records_in(folder / "out.jsonl");
    const auto errors = records_in(folder / "out.errors.jsonl");
    ASSERT_THAT(output, SizeIs(kRequests));
    ASSERT_THAT(errors, SizeIs(1));
    std::set<std::string> ids;
    for (const json& record : output) ids.insert(record.at("custom_id").get<std::string>());
    EXPECT_THAT(ids, SizeIs(kRequests));
    EXPECT_EQ(errors.front().at("custom_id"), "bad");
    EXPECT_EQ(content_of(folder / "out.jsonl").substr(0, before.size()), before);
    const auto resumed = std::count(before.begin(), before.end(), '\n');
    const json summary = json::parse(finished.out);
    const auto counted = summary.at("request_counts").at("resumed").get<std::int64_t>();
    EXPECT_GE(counted, resumed);
    EXPECT_LE(counted, resumed + 1);  // with the bad line, if its record was written by then
    EXPECT_EQ(summary.at("request_counts").at("completed"), kRequests);
    EXPECT_FALSE(has("out.jsonl.partial"));
    EXPECT_FALSE(has("out.jsonl.resume.json"));
  }
};

TEST_F(Interrupted, KilledInMidBatchItResumesWithEveryRequestExactlyOnce) {
  Program program(slow_batch());
  ASSERT_TRUE(wait_for_records(program, 5)) << program.wait().err;

  program.send(SIGKILL);

  EXPECT_EQ(program.wait().exit_code, 128 + SIGKILL);
  EXPECT_FALSE(has("out.jsonl"));
  expect_resumed(whole_part("out.jsonl.partial"));
}

TEST_F(Interrupted, KilledTwiceItStillResumes) {
  for (const std::int64_t records : {3, 12}) {
    Program program(slow_batch(records == 3 ? std::vector<std::string>{}
                                            : std::vector<std::string>{"--resume"}));
    ASSERT_TRUE(wait_for_records(program, records)) << program.wait().err;
    program.send(SIGKILL);
    static_cast<void>(program.wait());
  }

  expect_resumed(whole_part("out.jsonl.partial"));
}

TEST_F(Interrupted, ToldToStopItSaysHowToGoOn) {
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const char* name : {"out.jsonl.partial", "out.errors.jsonl.partial",
                             "out.jsonl.resume.json", "out.jsonl", "out.errors.jsonl"}) {
      std::filesystem::remove(folder / name);
    }
    Program program(slow_batch());
    ASSERT_TRUE(wait_for_records(program, 2)) << program.wait().err;

    program.send(signal);
    const Finished finished = program.wait();

    EXPECT_EQ(finished.exit_code, 128 + signal);
    EXPECT_THAT(finished.err, HasSubstr("--resume"));
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    EXPECT_FALSE(has("out.jsonl"));
    expect_resumed(whole_part("out.jsonl.partial"));
  }
}

TEST_F(Interrupted, TwoRunsOfOneOutputAreNotAllowed) {
  Program program(slow_batch());
  ASSERT_TRUE(wait_for_records(program, 1)) << program.wait().err;

  const Finished second = run(slow_batch({"--resume"}));

  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("another deepinfer is writing this output"));
}

}  // namespace
}  // namespace deepinfer::e2e
