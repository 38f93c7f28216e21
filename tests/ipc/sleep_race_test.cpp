// The moment in which one side publishes and the other goes to sleep, many thousand times over.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sched.h>

#include "tests/ipc/session_pair.h"

namespace deepinfer::ipc {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

// Longer than any wake-up takes: who sleeps until then was not woken.
constexpr auto kLost = 20s;

// Keeps a thread on one of the processors it may use: two that spin for each other are soon on one, where they
// never run at the same time. A thread inherits where its maker is pinned.
class Pinned {
 public:
  explicit Pinned(int which) {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    const int processors = CPU_COUNT(&before_);
    int wanted = processors > 0 ? which % processors : 0;
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &before_) || wanted-- > 0) continue;
      cpu_set_t one{};
      CPU_SET(i, &one);
      ::sched_setaffinity(0, sizeof(one), &one);
      break;
    }
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { ::sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_{};
};

// Two threads that begin each trial within nanoseconds of each other, with another lead each time.
class StartLine {
 public:
  void meet() {
    const std::uint32_t goal = (arrived_.fetch_add(1, std::memory_order_acq_rel) / 2 + 1) * 2;
    for (int looks = 0; arrived_.load(std::memory_order_acquire) < goal; ++looks) {
      if (looks > 2'000) std::this_thread::yield();
    }
  }
  // About a nanosecond each.
  void linger(std::uint32_t looks) const {
    while (looks > 0 && arrived_.load(std::memory_order_relaxed) > 0) --looks;
  }

 private:
  std::atomic<std::uint32_t> arrived_{0};
};

constexpr std::uint32_t kTrials = 50'000;
// Whoever publishes has more to do before it comes to the point.
std::uint32_t lead_of_publisher(std::uint32_t trial) { return trial * 7 % 64; }
std::uint32_t lead_of_sleeper(std::uint32_t trial) { return trial * 13 % 1024; }
// Before a trial the publisher has a look at the word that the sleeper will write. So has the sleeper had at
// the publisher's: both have old values at hand, and both stores take as long as they can.
void look_at(const SharedWord<std::uint32_t>& word) {
  EXPECT_LE(word.value.load(std::memory_order_relaxed), 2 * kTrials);
}

// The client publishes while the daemon decides to sleep. The wake-up is lost when the daemon goes to sleep
// and nobody has rung. On the two processors where this was written it lost 5 to 24 of them without the fence of
// the daemon, about 250 without that of the client; doorbell_model_test.cpp shows why.
TEST(SleepRace, RingsTheDaemonOrLetsItStayAwake) {
  SharedPair pair;
  StartLine begin;
  StartLine end;
  std::thread client([&] {
    const Pinned there(1);
    for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
      begin.meet();
      look_at(pair.daemon_words().sleeping);
      begin.linger(lead_of_publisher(trial));
      if (!pair.client().submit(Operation::kNothing, trial, {})) std::abort();
      end.meet();
    }
  });
  const Pinned here(0);

  Submission submission;
  std::uint32_t lost = 0;
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    begin.meet();
    begin.linger(lead_of_sleeper(trial));
    const bool sleeps = pair.daemon().prepare_sleep();
    end.meet();
    const bool was_rung = drain_doorbell(pair.daemon().doorbell());
    if (sleeps && !was_rung) ++lost;
    pair.daemon().end_sleep();
    const auto has_one = pair.daemon().take(submission);
    EXPECT_TRUE(has_one && *has_one && submission.user_data == trial);
  }
  client.join();
  EXPECT_EQ(lost, 0U);
}

// The same the other way round, where the decision and the sleep are one call: a lost wake-up shows as a wait
// of kLost. The kernel looks at the futex once more, so that this one needs much bad luck to fail.
TEST(SleepRace, WakesTheClientOrLetsItStayAwake) {
  SharedPair pair;
  StartLine begin;
  StartLine end;
  std::atomic<bool> is_over{false};
  std::thread daemon([&] {
    const Pinned there(1);
    for (std::uint32_t trial = 0; trial < kTrials && !is_over; ++trial) {
      begin.meet();
      look_at(pair.client_words().sleeping);
      begin.linger(lead_of_publisher(trial));
      if (!pair.daemon().publish(CompletionKind::kAccepted, trial, {})) std::abort();
      pair.daemon().wake();
      end.meet();
    }
  });
  const Pinned here(0);

  Completion completion;
  std::vector<std::byte> payload;
  bool is_lost = false;
  for (std::uint32_t trial = 0; trial < kTrials && !is_over; ++trial) {
    begin.meet();
    begin.linger(lead_of_sleeper(trial));
    const auto start = Steady::now();
    while (!*pair.client().next(completion, payload)) pair.client().wait(kLost, 0ns);
    is_lost = Steady::now() - start >= kLost;
    is_over = is_lost;
    EXPECT_EQ(completion.user_data, trial);
    end.meet();
  }
  daemon.join();
  EXPECT_FALSE(is_lost);
}

}  // namespace
}  // namespace deepinfer::ipc
