#include "daemon/message_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace deepinfer::daemon {
namespace {

TEST(MessageQueue, GivesEverythingInOrder) {
  MessageQueue<int> queue;
  for (int i = 0; i < 5; ++i) queue.push(i);

  EXPECT_EQ(queue.take_all(), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(queue.take_all().empty());
  EXPECT_TRUE(queue.is_empty());
}

TEST(MessageQueue, FreesWhatNobodyTook) {
  MessageQueue<std::unique_ptr<int>> queue;
  queue.push(std::make_unique<int>(1));
  queue.push(std::make_unique<int>(2));
}

TEST(MessageQueue, KeepsTheOrderOfEachOfManySenders) {
  constexpr int kSenders = 3;
  constexpr int kMessages = 20'000;
  MessageQueue<std::pair<int, int>> queue;
  std::vector<std::thread> senders;
  senders.reserve(kSenders);
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&queue, sender] {
      for (int i = 0; i < kMessages; ++i) queue.push({sender, i});
    });
  }

  std::vector<int> next(kSenders, 0);
  int taken = 0;
  while (taken < kSenders * kMessages) {
    for (const auto& [sender, number] : queue.take_all()) {
      EXPECT_EQ(number, next[static_cast<std::size_t>(sender)]++);
      ++taken;
    }
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_TRUE(queue.is_empty());
}

}  // namespace
}  // namespace deepinfer::daemon
