// Runs a command in this process with a scripted engine and a scripted daemon, and keeps what it said.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/app.h"
#include "tests/client/fake_control.h"
#include "tests/client/fake_runner.h"
#include "tests/client/temporary_folder.h"

namespace deepinfer::cli {

inline constexpr JobId kJob{0x0123456789abcdefU, 0xfedcba9876543210U};
inline constexpr const char* kJobText = "job_0123456789abcdeffedcba9876543210";

inline ClientError nobody_there() {
  return {ClientFault::kUnreachable, "daemon_unreachable", "connection refused", "/run/x.sock",
          "start deepinferd"};
}

class CommandTest : public ::testing::Test {
 protected:
  // Runs `deepinfer WORDS...`; the engine takes a signal after `stop_after` looks, never if < 0.
  int run(const std::vector<std::string>& words, int stop_after = -1) {
    std::vector<const char*> arguments;
    arguments.reserve(words.size());
    for (const std::string& word : words) arguments.push_back(word.c_str());
    out.str("");
    err.str("");
    log = {};
    session.reset();
    pauses = 0;
    int looks = 0;
    const CommandContext context{
        out,
        err,
        clock,
        [] { return std::chrono::system_clock::time_point{}; },
        [&looks, stop_after] { return stop_after >= 0 && looks++ >= stop_after ? 2 : 0; },
        [this](std::chrono::milliseconds time) {
          ++pauses;
          clock.advance(time);
        },
        [this](const EngineOptions& options, EngineError& error) { return open(options, error); },
        [this](const DaemonSession& wanted, ClientError& error) { return open(wanted, error); },
        [this](const std::filesystem::path& socket, ClientError& error) {
          return open(socket, error);
        },
        environment,
        program_folder,
        [this](const std::filesystem::path& program, const std::vector<std::string>& arguments_of) {
          became = arguments_of;
          became.insert(became.begin(), program.string());
          return 8;  // ENOEXEC
        },
        false,
    };
    return run_app(arguments, context);
  }

  // `deepinfer batch in.jsonl -o out.jsonl` with an embedded engine, or with the daemon's.
  int run_batch_file(std::vector<std::string> more = {}, int stop_after = -1) {
    more.insert(more.end(), {"--embedded", "--model", "m"});
    return run(batch_words(std::move(more)), stop_after);
  }
  int run_daemon_batch(std::vector<std::string> more = {}, int stop_after = -1) {
    return run(batch_words(std::move(more)), stop_after);
  }

  void write_input(const std::string& text) { write_file(folder / "in.jsonl", text); }
  std::string output() const { return content_of(folder / "out.jsonl"); }
  std::string errors() const { return content_of(folder / "out.errors.jsonl"); }
  bool has(const std::string& name) const { return std::filesystem::exists(folder / name); }

  TemporaryFolder folder;
  ManualClock clock;
  std::ostringstream out;
  std::ostringstream err;
  config::Variables environment;
  FakeScript script;  // of the engine, wherever it is
  FakeLog log;        // of the last run
  EngineOptions opened;
  EngineError open_error;  // when set, opening the engine fails with it

  FakeDaemon daemon;
  std::optional<ClientError> connect_error;  // when set, nobody reaches the daemon
  std::optional<DaemonSession> session;      // that the last run has opened
  std::filesystem::path socket_asked;        // by an operator's command
  int pauses = 0;

  std::filesystem::path program_folder;
  std::vector<std::string> became;  // a path, then the words of another program

 private:
  [[nodiscard]] std::vector<std::string> batch_words(std::vector<std::string> more) const {
    std::vector<std::string> words{
        "batch", folder / "in.jsonl", "-o", folder / "out.jsonl", "--progress", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::unique_ptr<Runner> open(const EngineOptions& options, EngineError& error) {
    opened = options;
    error = open_error;
    if (error.fault != EngineFault::kNone) return nullptr;
    RunnerFacts facts;
    facts.model = "fake";
    facts.where = "engine";
    facts.max_in_flight = 2 * static_cast<std::size_t>(options.max_sequences);
    return std::make_unique<FakeRunner>(script, std::move(facts), log);
  }

  std::unique_ptr<Runner> open(const DaemonSession& wanted, ClientError& error) {
    session = wanted;
    if (connect_error) {
      error = *connect_error;
      return nullptr;
    }
    RunnerFacts facts;
    facts.model = "fake";
    facts.where = "/run/x.sock";
    facts.max_in_flight = 8;
    if (wanted.job) facts.job = kJob;
    facts.refuses_later = true;
    return std::make_unique<FakeRunner>(script, std::move(facts), log);
  }

  std::unique_ptr<Control> open(const std::filesystem::path& socket, ClientError& error) {
    socket_asked = socket;
    if (!connect_error) return std::make_unique<FakeControl>(daemon, "/run/x.sock");
    error = *connect_error;
    return nullptr;
  }
};

}  // namespace deepinfer::cli
