#include "daemon/engine_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tests/support/fake_engine.h"

namespace deepinfer::daemon {
namespace {

// Waits for the thread's notifications, as the loop does.
class Notes {
 public:
  void notify() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  // Until something was notified that has not been waited for.
  [[nodiscard]] bool wait() {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, std::chrono::seconds(20), [this] { return count_ > 0; });
    count_ = 0;
    return came;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class EngineThreadTest : public ::testing::Test {
 protected:
  [[nodiscard]] OpenModel open_fake() {
    return [this](EngineError&) { return std::make_unique<test::FakeEngine>(&released); };
  }
  // Events until `done` says so.
  template <typename Done>
  std::vector<EngineEvent> events_until(EngineThread& thread, Done done) {
    std::vector<EngineEvent> events;
    while (!done(events)) {
      for (EngineReport& report : thread.take_reports()) {
        for (EngineEvent& event : report.events) events.push_back(std::move(event));
      }
      if (!done(events) && !notes.wait()) {
        ADD_FAILURE() << "nothing came in 20 seconds";
        break;
      }
    }
    return events;
  }
  std::vector<EngineEvent> some_events(EngineThread& thread, std::size_t count) {
    return events_until(thread, [count](const auto& events) { return events.size() >= count; });
  }
  [[nodiscard]] AdmitCommand admit(std::uint64_t ticket, const std::string& text, bool stream) {
    Request request;
    request.prompt = TextPrompt{text};
    request.sampling.max_tokens = 3;
    test::FakeEngine engine;
    return {Ticket{ticket}, std::get<PreparedRequest>(engine.prepare(request)), stream};
  }

  Notes notes;
  std::atomic<bool> released{false};
};

TEST_F(EngineThreadTest, ReportsTheModelFirst) {
  EngineThread thread(open_fake(), [this] { notes.notify(); });

  const auto events = some_events(thread, 1);

  ASSERT_TRUE(std::holds_alternative<ModelOpened>(events.at(0)));
  EXPECT_EQ(std::get<ModelOpened>(events[0]).model.name, "fake");
}

TEST_F(EngineThreadTest, ReportsAModelThatCannotBeOpened) {
  const OpenModel open = [](EngineError& error) {
    error.fault = EngineFault::kModel;
    error.what = "no such folder";
    return std::unique_ptr<ModelEngine>();
  };
  EngineThread thread(open, [this] { notes.notify(); });

  const auto events = some_events(thread, 1);

  ASSERT_TRUE(std::holds_alternative<ModelFailed>(events.at(0)));
  EXPECT_EQ(std::get<ModelFailed>(events[0]).error.what, "no such folder");
}

TEST_F(EngineThreadTest, StreamsOnlyWhenAsked) {
  EngineThread thread(open_fake(), [this] { notes.notify(); });
  std::vector<EngineCommand> commands;
  commands.emplace_back(admit(1, "a", true));
  commands.emplace_back(admit(2, "b", false));
  thread.post(std::move(commands));

  const auto events = some_events(thread, 6);  // opened, three tokens, two ends

  int tokens = 0;
  int ends = 0;
  for (const EngineEvent& event : events) {
    if (const auto* token = std::get_if<TokenProduced>(&event)) {
      EXPECT_EQ(token->ticket, Ticket{1});
      ++tokens;
    }
    if (std::holds_alternative<RequestFinished>(event)) ++ends;
  }
  EXPECT_EQ(tokens, 3);
  EXPECT_EQ(ends, 2);
}

TEST_F(EngineThreadTest, WakesForACommandAfterBeingIdle) {
  EngineThread thread(open_fake(), [this] { notes.notify(); });
  for (std::uint64_t ticket = 1; ticket <= 50; ++ticket) {
    std::vector<EngineCommand> commands;
    commands.emplace_back(admit(ticket, "a", false));
    thread.post(std::move(commands));
    const auto events = events_until(thread, [ticket](const auto& seen) {
      return !seen.empty() && std::holds_alternative<RequestFinished>(seen.back()) &&
             std::get<RequestFinished>(seen.back()).ticket == Ticket{ticket};
    });
    ASSERT_FALSE(events.empty());
  }
}

TEST_F(EngineThreadTest, CancelsWhatMakesNoProgress) {
  EngineThread thread(open_fake(), [this] { notes.notify(); });
  std::vector<EngineCommand> commands;
  commands.emplace_back(admit(1, "hold", false));
  thread.post(std::move(commands));
  thread.post({CancelCommand{Ticket{1}}, CancelCommand{Ticket{99}}});

  const auto events = some_events(thread, 2);

  const auto* finished = std::get_if<RequestFinished>(&events.at(1));
  ASSERT_NE(finished, nullptr);
  EXPECT_EQ(finished->result.choices[0].reason, FinishReason::kCancelled);
}

TEST_F(EngineThreadTest, StopsWithWorkInHand) {
  EngineThread thread(open_fake(), [this] { notes.notify(); });
  std::vector<EngineCommand> commands;
  commands.emplace_back(admit(1, "hold", false));
  thread.post(std::move(commands));
}

}  // namespace
}  // namespace deepinfer::daemon
