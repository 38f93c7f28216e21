// What the tests of the client library share: a folder for sockets, a connected Client, a sink that records.
//
// Threads:  a RecordingSink may be called by any thread, one at a time, as a Client promises; what it has recorded
//           is read under its lock
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <deepinfer/client.h>

#include "tests/client/temporary_folder.h"
#include "tests/client_sdk/fake_daemon.h"

namespace deepinfer::client {

using Milliseconds = std::chrono::milliseconds;

// Long enough for any machine; tests wait for what they expect, never for time to pass.
inline constexpr Milliseconds kPlenty{20'000};

class RecordingSink final : public ClientSink {
 public:
  void on_token(const TokenEvent& event) override {
    const std::lock_guard lock(mutex_);
    tokens_.push_back(event);
  }
  void on_finished(RequestResult result) override {
    const std::lock_guard lock(mutex_);
    ++ends_[result.request];
    results_.emplace(result.request, std::move(result));
  }
  void on_refused(RequestHandle request, const RequestError& error) override {
    const std::lock_guard lock(mutex_);
    ++ends_[request];
    refusals_.emplace(request, error);
  }
  void on_lost(RequestHandle request) override {
    const std::lock_guard lock(mutex_);
    ++ends_[request];
    lost_.push_back(request);
  }

  [[nodiscard]] std::vector<TokenEvent> tokens() const { return copy_of(tokens_); }
  [[nodiscard]] std::map<RequestHandle, RequestResult> results() const { return copy_of(results_); }
  [[nodiscard]] std::map<RequestHandle, RequestError> refusals() const {
    return copy_of(refusals_);
  }
  [[nodiscard]] std::vector<RequestHandle> lost() const { return copy_of(lost_); }
  // How often each request has ended.
  [[nodiscard]] std::map<RequestHandle, int> ends() const { return copy_of(ends_); }

 private:
  template <typename Records>
  [[nodiscard]] Records copy_of(const Records& records) const {
    const std::lock_guard lock(mutex_);
    return records;
  }

  mutable std::mutex mutex_;
  std::vector<TokenEvent> tokens_;
  std::map<RequestHandle, RequestResult> results_;
  std::map<RequestHandle, RequestError> refusals_;
  std::vector<RequestHandle> lost_;
  std::map<RequestHandle, int> ends_;
};

inline Request text_request(std::string text, std::string custom_id = "") {
  Request request;
  request.prompt = TextPrompt{std::move(text)};
  request.custom_id = std::move(custom_id);
  return request;
}

inline bool wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPlenty;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class ClientTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path socket() const { return folder_.path() / "daemon.sock"; }
  [[nodiscard]] ClientOptions options() const {
    ClientOptions options;
    options.socket = socket();
    options.connect_timeout = kPlenty;
    options.reconnect_timeout = Milliseconds{0};
    return options;
  }
  // Fails the test when it cannot.
  [[nodiscard]] static std::unique_ptr<Client> connect(const ClientOptions& options) {
    ClientError error;
    auto client = Client::connect(options, error);
    EXPECT_NE(client, nullptr) << error.code << ": " << error.what;
    return client;
  }
  [[nodiscard]] std::unique_ptr<Client> connect() const { return connect(options()); }
  [[nodiscard]] ClientError connect_error(const ClientOptions& options) const {
    ClientError error;
    EXPECT_EQ(Client::connect(options, error), nullptr);
    return error;
  }

  // Until every request has ended.
  static void deliver_all(Client& client) {
    const auto deadline = std::chrono::steady_clock::now() + kPlenty;
    while (client.unfinished() > 0 && std::chrono::steady_clock::now() < deadline) {
      client.deliver(Milliseconds{100});
    }
    EXPECT_EQ(client.unfinished(), 0);
  }
  static RequestHandle submit(Client& client, const Request& request, ClientSink& sink,
                              const Client::SubmitOptions& options = {}) {
    const Client::Submitted submitted = client.submit(request, sink, options);
    EXPECT_FALSE(submitted.error) << submitted.error->code << ": " << submitted.error->what;
    return submitted.request;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace deepinfer::client
