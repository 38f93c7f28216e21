// Client and daemon as two threads over one memory, which the thread sanitizer can follow, and as two
// processes, which it cannot. No order is lost, no byte is mixed up, no wake-up is missed.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

// Longer than any wake-up takes: who sleeps until then was not woken.
constexpr auto kLost = 20s;

// Answers each submission with a payload that follows from its descriptor, and sleeps when there is none.
class Server {
 public:
  explicit Server(DaemonEnd& end) : end_(end) {}

  // Until `count` are answered. What went wrong, or nothing.
  std::string run(std::uint64_t count) {
    while (answered_ < count) {
      const auto has_one = end_.take(submission_);
      if (!has_one) return has_one.error().message;
      if (!submission_.problem.empty()) return submission_.problem;
      if (*has_one) {
        if (std::string problem = answer(); !problem.empty()) return problem;
        continue;
      }
      if (std::string problem = sleep(); !problem.empty()) return problem;
    }
    return {};
  }

 private:
  std::string answer() {
    const std::uint64_t bytes = submission_.descriptor.empty() ? 0 : submission_.descriptor.back();
    const auto payload = pattern(bytes, submission_.user_data);
    const auto begin = Steady::now();
    while (true) {
      const auto is_out = end_.publish(CompletionKind::kResult, submission_.user_data, payload);
      if (!is_out) return is_out.error().message;
      if (*is_out) break;
      end_.wake();
      std::this_thread::yield();
      if (Steady::now() - begin > kLost) return "the client takes nothing";
    }
    end_.wake();
    ++answered_;
    return {};
  }

  std::string sleep() {
    if (!end_.prepare_sleep()) return {};
    pollfd bell{end_.doorbell(), POLLIN, 0};
    const int ready = ::poll(&bell, 1, std::chrono::milliseconds(kLost).count());
    end_.end_sleep();
    drain_doorbell(end_.doorbell());
    return ready == 1 ? "" : "nobody rang";
  }

  DaemonEnd& end_;
  Submission submission_;
  std::uint64_t answered_ = 0;
};

// Submits with random descriptors, in slots and in the arena, and checks what comes back.
class Requester {
 public:
  Requester(ClientEnd& end, std::size_t most_payload) : end_(end), most_payload_(most_payload) {}

  std::string run(std::uint64_t count, std::uint64_t most_under_way) {
    while (answered_ < count) {
      while (sent_ < count && sent_ - answered_ < most_under_way) {
        const auto is_out = submit();
        if (!is_out) return is_out.error().message;
        if (!*is_out) break;
      }
      if (std::string problem = take_all(); !problem.empty()) return problem;
    }
    return {};
  }

 private:
  struct Expected {
    std::uint64_t bytes = 0;
    std::optional<Span> span;
  };

  Result<bool> submit() {
    const std::uint64_t bytes = random_() % most_payload_;
    std::vector<std::uint64_t> descriptor(1 + random_() % 200, sent_);
    descriptor.back() = bytes;
    if (descriptor.size() * 8 <= kMaxInlineBytes) {
      DEEPINFER_TRY(const bool is_out, end_.submit(Operation::kSubmit, sent_, descriptor));
      if (is_out) remember({bytes, std::nullopt});
      return is_out;
    }
    const auto span = end_.arena().allocate(descriptor.size() * 8);
    if (!span) return false;
    std::memcpy(end_.arena().bytes_of(*span).data(), descriptor.data(), span->bytes);
    DEEPINFER_TRY(const bool is_out, end_.submit_from_arena(Operation::kSubmit, sent_, *span));
    if (is_out) remember({bytes, span});
    if (!is_out) end_.arena().free(*span);
    return is_out;
  }

  void remember(const Expected& expected) {
    expected_.push_back(expected);
    ++sent_;
  }

  std::string take_all() {
    bool has_any = false;
    while (true) {
      const auto has_one = end_.next(completion_, payload_);
      if (!has_one) return has_one.error().message;
      if (!*has_one) break;
      has_any = true;
      const Expected& expected = expected_[answered_];
      if (completion_.user_data != answered_) return "out of order";
      if (payload_ != pattern(expected.bytes, answered_)) return "another payload";
      if (expected.span) end_.arena().free(*expected.span);
      ++answered_;
    }
    if (has_any) return {};
    const auto begin = Steady::now();
    end_.wait(kLost, 20us);
    return Steady::now() - begin < kLost ? "" : "nobody woke the client";
  }

  ClientEnd& end_;
  const std::size_t most_payload_;
  std::mt19937 random_{20261201};  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable on purpose
  std::vector<Expected> expected_;
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
  Completion completion_;
  std::vector<std::byte> payload_;
};

struct Load {
  std::uint64_t count;
  std::uint64_t under_way;
  std::size_t most_payload;
};

class RingStress : public testing::TestWithParam<Load> {};
INSTANTIATE_TEST_SUITE_P(
    Loads, RingStress,
    // One at a time: both sides sleep all the time. Many: both rings are full at
    // times. Great payloads: the arena is full at times.
    testing::Values(Load{10'000, 1, 64}, Load{40'000, 1000, 300}, Load{1'000, 1000, 32'768}));

TEST_P(RingStress, LosesNothingBetweenTwoThreads) {
  const Load load = GetParam();
  SharedPair pair(kSmall, {.submissions = ~0U - 500, .completions = ~0U - 500, .results = 0});
  std::string trouble;
  std::thread daemon([&] { trouble = Server(pair.daemon()).run(load.count); });
  EXPECT_EQ(Requester(pair.client(), load.most_payload).run(load.count, load.under_way), "");
  daemon.join();
  EXPECT_EQ(trouble, "");
}

TEST_P(RingStress, LosesNothingBetweenTwoProcesses) {
  const Load load = GetParam();
  auto created = DaemonEnd::create(kSmall, kSession, kEpoch);
  ASSERT_OK(created);
  DaemonEnd& daemon = **created;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto client = ClientEnd::attach(received(daemon), kSmall, kSession);
    const bool is_good =
        client && Requester(**client, load.most_payload).run(load.count, load.under_way).empty();
    ::_exit(is_good ? 0 : 1);
  }
  EXPECT_EQ(Server(daemon).run(load.count), "");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// What ClientEnd promises: submitting and receiving are one thread each.
TEST(RingStressOfThree, LetsOneThreadSubmitWhileAnotherReceives) {
  constexpr std::uint64_t kCount = 20'000;
  const auto payload_bytes = [](std::uint64_t number) { return number % 300; };
  SharedPair pair;
  std::string trouble;
  std::thread daemon([&] { trouble = Server(pair.daemon()).run(kCount); });
  std::thread submitter([&] {
    for (std::uint64_t number = 0; number < kCount; ++number) {
      const std::array<std::uint64_t, 1> descriptor{payload_bytes(number)};
      while (!*pair.client().submit(Operation::kSubmit, number, descriptor)) {
        std::this_thread::yield();
      }
    }
  });

  Completion completion;
  std::vector<std::byte> payload;
  for (std::uint64_t number = 0; number < kCount;) {
    const auto has_one = pair.client().next(completion, payload);
    ASSERT_OK(has_one);
    if (!*has_one) {
      pair.client().wait(kLost, 20us);
      continue;
    }
    EXPECT_EQ(completion.user_data, number);
    EXPECT_EQ(payload, pattern(payload_bytes(number), number));
    ++number;
  }
  submitter.join();
  daemon.join();
  EXPECT_EQ(trouble, "");
}

}  // namespace
}  // namespace deepinfer::ipc
