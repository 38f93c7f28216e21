// A running deepinferd on the small model, its clients, and what embedded runs say to the same files.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <deepinfer/client.h>

#include "tests/e2e/nano.h"
#include "tests/e2e/notify_socket.h"
#include "tests/e2e/program.h"

namespace deepinfer::e2e {

// Until `is_so` or 60 seconds: other processes are at work, there is no clock of ours to move.
[[nodiscard]] inline bool eventually(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// A record without what differs from run to run: ids of responses and times.
[[nodiscard]] inline nlohmann::json without_ids(nlohmann::json record) {
  if (record.at("response").is_null()) return record;
  record["response"].erase("request_id");
  record["response"]["body"].erase("id");
  record["response"]["body"].erase("created");
  return record;
}

// The records of a file by custom_id, without ids and times.
[[nodiscard]] inline std::map<std::string, nlohmann::json> by_custom_id(
    const std::filesystem::path& path) {
  std::map<std::string, nlohmann::json> records;
  for (const nlohmann::json& record : records_in(path)) {
    const auto name = record.at("custom_id").get<std::string>();
    EXPECT_FALSE(records.contains(name)) << name << " twice in " << path;
    records[name] = without_ids(record);
  }
  return records;
}

class DaemonTest : public NanoTest {
 protected:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  [[nodiscard]] std::string socket() const { return (folder / "d.sock").string(); }

  // Starts deepinferd on nano, or on what `more` says, without waiting for it.
  std::unique_ptr<Program> start(const Variables& environment = {},
                                 std::vector<std::string> more = {}) {
    notify = std::make_unique<NotifySocket>(folder /
                                            ("notify" + std::to_string(next_notify_++) + ".sock"));
    std::vector<std::string> words{DEEPINFERD_PROGRAM, "--config", folder / "d.toml", "--socket",
                                   socket(),           "--model",  model.string()};
    write_file(folder / "d.toml", configuration);
    words.insert(words.end(), more.begin(), more.end());
    Invocation invocation{words, environment};
    invocation.environment.emplace_back("NOTIFY_SOCKET", notify->path());
    return std::make_unique<Program>(invocation);
  }
  void start_daemon(const Variables& environment = {}) {
    daemon = start(environment);
    ASSERT_TRUE(notify->wait_for("READY=1")) << daemon->wait().err;
  }
  // Asks it to stop; the exit code and what it logged.
  Finished stop_daemon() {
    daemon->send(SIGTERM);
    return daemon->wait();
  }

  // deepinfer WORDS... --socket SOCKET
  [[nodiscard]] Invocation client_command(std::vector<std::string> words) const {
    words.insert(words.begin(), DEEPINFER_PROGRAM);
    words.emplace_back("--socket");
    words.push_back(socket());
    return {words, {}};
  }
  // A batch of IN.jsonl into NAME.jsonl, through the daemon or embedded.
  [[nodiscard]] Invocation daemon_batch(const std::string& in, const std::string& name,
                                        const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"batch",      folder / in, "-o", folder / (name + ".jsonl"),
                                   "--progress", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return client_command(words);
  }
  [[nodiscard]] Invocation embedded_batch(const std::string& in, const std::string& name) const {
    return command({"batch", folder / in, "-o", folder / (name + ".jsonl"), "--progress", "none"});
  }

  // `count` requests of several kinds, each with its own name and seed; long: of so many tokens.
  void write_mixed(const std::string& name, int count, const std::string& prefix,
                   int max_tokens = 24) const {
    static const std::vector<nlohmann::json> items = heldout("extraction");
    std::string text;
    for (int i = 0; i < count; ++i) {
      nlohmann::json line = {{"custom_id", prefix + std::to_string(i)}};
      // Of four lengths, so that they do not all end together.
      line["sampling_params"] = {{"max_tokens", max_tokens * (1 + i % 4) / 4},
                                 {"temperature", i % 3 == 0 ? 0.0 : 0.8}};
      if (i % 5 == 4) {
        line["prompt"] = "Once upon a time " + std::to_string(i);
        line["sampling_params"]["n"] = 2;
        line["sampling_params"]["ignore_eos"] = max_tokens > 24;
      } else {
        line["messages"] = items.at(static_cast<std::size_t>(i) % items.size()).at("messages");
        line["sampling_params"]["thinking"] = false;
        line["sampling_params"]["ignore_eos"] = max_tokens > 24;
      }
      if (i % 7 == 6) line["sampling_params"]["logprobs"] = 2;
      if (i % 50 == 49) line["sampling_params"]["top_p"] = 7;  // refused
      text += line.dump() + "\n";
    }
    write_file(folder / name, text);
  }

  // Both files of a run, success and failure.
  void expect_same_records(const std::string& name, const std::string& expected) const {
    EXPECT_EQ(by_custom_id(folder / (name + ".jsonl")),
              by_custom_id(folder / (expected + ".jsonl")));
    EXPECT_EQ(has(name + ".errors.jsonl"), has(expected + ".errors.jsonl"));
    if (!has(expected + ".errors.jsonl")) return;
    EXPECT_EQ(by_custom_id(folder / (name + ".errors.jsonl")),
              by_custom_id(folder / (expected + ".errors.jsonl")));
  }

  // Whole lines of a file that is being written.
  [[nodiscard]] std::int64_t lines_of(const std::string& name) const {
    const std::string text = content_of(folder / name);
    return std::count(text.begin(), text.end(), '\n');
  }

  [[nodiscard]] std::unique_ptr<Client> connect() const {
    ClientError error;
    auto client = Client::connect({.socket = socket(), .name = "test"}, error);
    EXPECT_NE(client, nullptr) << error.what;
    return client;
  }
  [[nodiscard]] DaemonStatus status() const {
    const auto client = connect();
    const auto status = client->status();
    EXPECT_TRUE(std::holds_alternative<DaemonStatus>(status));
    return std::holds_alternative<DaemonStatus>(status) ? std::get<DaemonStatus>(status)
                                                        : DaemonStatus{};
  }

  std::filesystem::path model = nano();
  std::string configuration = "[engine]\nthreads = 1\n";
  std::unique_ptr<NotifySocket> notify;
  std::unique_ptr<Program> daemon;

 private:
  int next_notify_ = 0;
};

}  // namespace deepinfer::e2e
