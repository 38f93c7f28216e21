// The daemon's parts around a scripted engine, driven by the test in one thread, and a client's end.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "daemon/gateway.h"
#include "daemon/log.h"
#include "ipc/client_end.h"
#include "ipc/codec.h"
#include "tests/client/temporary_folder.h"
#include "tests/support/fake_engine.h"

namespace deepinfer::daemon {

// What a client was told of one request.
struct Heard {
  ipc::CompletionKind kind{};
  std::uint64_t user_data = 0;
  std::vector<std::byte> payload;  // of all pieces

  [[nodiscard]] RequestError error() const { return *ipc::decode_error(*ipc::to_words(payload)); }
  [[nodiscard]] RequestResult result() const {
    return *ipc::decode_result(*ipc::to_words(payload));
  }
  [[nodiscard]] TokenEvent token() const { return *ipc::decode_token(*ipc::to_words(payload)); }
};

// An honest client over the memory of a session.
class TestClient {
 public:
  explicit TestClient(std::unique_ptr<ipc::ClientEnd> end) : end_(std::move(end)) {}

  [[nodiscard]] static TestClient of(ipc::DaemonEnd& end) {
    const auto numbers = end.client_descriptors();
    const auto copy = [](int number) {
      return FileDescriptor(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    };
    auto attached = ipc::ClientEnd::attach({copy(numbers[0]), copy(numbers[1]), copy(numbers[2])},
                                           end.geometry(), kSession);
    if (!attached) std::abort();
    return TestClient(*std::move(attached));
  }

  // The span is not given back: the arena is large enough for a test.
  void submit(std::uint64_t user_data, const std::string& text, ipc::SubmitMessage message = {}) {
    const auto span = end_->arena().allocate(text.size());
    if (!span) std::abort();
    if (!text.empty()) std::memcpy(end_->arena().bytes_of(*span).data(), text.data(), text.size());
    message.prompt = ipc::TextSpans{*span};
    ipc::Words words;
    ipc::encode(message, words);
    const auto submitted = end_->submit(ipc::Operation::kSubmit, user_data, words);
    if (!submitted || !*submitted) std::abort();
  }
  void send(ipc::Operation operation, std::uint64_t user_data, const ipc::Words& words = {}) {
    const auto submitted = end_->submit(operation, user_data, words);
    if (!submitted || !*submitted) std::abort();
  }

  // Takes at most one completion; pieces are put together.
  bool take() {
    ipc::Completion completion;
    std::vector<std::byte> payload;
    const auto next = end_->next(completion, payload);
    if (!next) std::abort();
    if (!*next) return false;
    pieces_.insert(pieces_.end(), payload.begin(), payload.end());
    const auto kind = static_cast<ipc::CompletionKind>(completion.kind);
    if (kind == ipc::CompletionKind::kResultPart) return true;
    heard.push_back({kind, completion.user_data, std::exchange(pieces_, {})});
    return true;
  }
  void take_all() {
    while (take()) {
    }
  }
  [[nodiscard]] const Heard* last_of(std::uint64_t user_data) const {
    for (auto one = heard.rbegin(); one != heard.rend(); ++one) {
      if (one->user_data == user_data && one->kind != ipc::CompletionKind::kAccepted) return &*one;
    }
    return nullptr;
  }

  static constexpr std::uint64_t kSession = 5;
  std::vector<Heard> heard;

 private:
  std::unique_ptr<ipc::ClientEnd> end_;
  std::vector<std::byte> pieces_;
};

class DaemonPartsTest : public ::testing::Test {
 public:
  DaemonPartsTest(const DaemonPartsTest&) = delete;
  DaemonPartsTest& operator=(const DaemonPartsTest&) = delete;
  ~DaemonPartsTest() override {
    EXPECT_TRUE(run_until([this] { return gateway.is_quiet(); }));
  }

 protected:
  static constexpr ipc::Geometry kSmall{16, 16, 64U << 10U, 64U << 10U};

  DaemonPartsTest()
      : log(*Log::open({LogLevel::kDebug, config::LogFormat::kText, folder / "log"},
                       Log::Terminal::kNo, clock)),
        wakeup(loop, [this] { apply_reports(); }),
        engine([this](EngineError&) { return std::make_unique<test::FakeEngine>(&released); },
               [this] { wakeup.send(); }),
        gateway({loop, engine, jobs, *log, limits, [this] { return state; },
                 [] { return JobTable::Time{}; },
                 [this] {
                   return JobId{1, next_job++};
                 },
                 [this] { ++waiting_notes; }, [] {}}) {
    EXPECT_TRUE(run_until([this] { return is_open; }));
  }
  // Turns the loop until `is_so`, 20 seconds at most; looks every few milliseconds.
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    Timer tick(loop, [] {});
    while (!is_so() && std::chrono::steady_clock::now() < end) {
      tick.start_once(std::chrono::milliseconds(2));
      static_cast<void>(uv_run(loop.get(), UV_RUN_ONCE));
    }
    return is_so();
  }

  Session& open_session(std::uint64_t id, const ipc::Geometry& geometry = kSmall) {
    auto end = ipc::DaemonEnd::create(geometry, TestClient::kSession, 1);
    EXPECT_TRUE(end);
    return gateway.open_session(SessionId{id}, 1000, *std::move(end));
  }
  void serve(Session& session) {
    while (gateway.serve(session)) {
    }
    gateway.flush();
  }
  [[nodiscard]] bool hears(TestClient& client, std::uint64_t user_data) {
    return run_until([&] {
      client.take_all();
      static_cast<void>(gateway.flush_waiting());
      return client.last_of(user_data) != nullptr;
    });
  }

  void apply_reports() {
    for (EngineReport& report : engine.take_reports()) {
      for (EngineEvent& event : report.events) {
        if (auto* token = std::get_if<TokenProduced>(&event)) gateway.apply(*token);
        if (auto* end = std::get_if<RequestFinished>(&event)) gateway.apply(*end);
        if (std::holds_alternative<ModelOpened>(event)) is_open = true;
      }
    }
    gateway.flush();
  }

  TemporaryFolder folder;
  SteadyClock clock;
  std::unique_ptr<Log> log;
  std::atomic<bool> released{false};
  AdmissionLimits limits{100, 50};
  DaemonState state = DaemonState::kReady;
  std::uint64_t next_job = 1;
  int waiting_notes = 0;
  bool is_open = false;
  Loop loop;
  Wakeup wakeup;
  EngineThread engine;
  JobTable jobs;
  Gateway gateway;
};

}  // namespace deepinfer::daemon
