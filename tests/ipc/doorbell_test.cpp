// A wake-up is a hint that must arrive, whatever the other side did to the descriptor.
#include "ipc/doorbell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "ipc/segment.h"
#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

FileDescriptor doorbell() {
  auto created = create_doorbell();
  EXPECT_TRUE(created.has_value());
  return *std::move(created);
}

bool is_readable(int descriptor) {
  pollfd wanted{descriptor, POLLIN, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

TEST(Doorbell, WorksOnThisKernel) { ASSERT_OK(probe_doorbell()); }

TEST(Doorbell, IsSilentUntilItIsRung) {
  const FileDescriptor bell = doorbell();
  EXPECT_FALSE(drain_doorbell(bell.number()));
  ring_doorbell(bell.number());
  EXPECT_TRUE(is_readable(bell.number()));
  EXPECT_TRUE(drain_doorbell(bell.number()));
  EXPECT_FALSE(is_readable(bell.number()));
}

TEST(Doorbell, MakesOneOfManyRings) {
  const FileDescriptor bell = doorbell();
  for (int i = 0; i < 100'000; ++i) ring_doorbell(bell.number());
  EXPECT_TRUE(drain_doorbell(bell.number()));
  EXPECT_FALSE(drain_doorbell(bell.number()));
}

TEST(Doorbell, DoesNotBlockWhoRingsWhenItsCounterIsFull) {
  const FileDescriptor bell = doorbell();
  const std::uint64_t most = ~std::uint64_t{0} - 1;
  ASSERT_EQ(::write(bell.number(), &most, sizeof(most)), 8);
  ring_doorbell(bell.number());
  EXPECT_TRUE(drain_doorbell(bell.number()));
}

TEST(Doorbell, DoesNotBlockTheDaemonWhenAClientMakesItBlocking) {
  const FileDescriptor bell = doorbell();
  const FileDescriptor clients = duplicate(bell.number());
  ASSERT_EQ(::fcntl(clients.number(), F_SETFL, 0), 0);  // the flags are shared
  ASSERT_EQ(::fcntl(bell.number(), F_GETFL) & O_NONBLOCK, 0);

  EXPECT_FALSE(drain_doorbell(bell.number()));  // else this hangs
  ring_doorbell(clients.number());
  EXPECT_TRUE(drain_doorbell(bell.number()));
}

TEST(Doorbell, IsSilentWhenThereIsNone) {
  ring_doorbell(-1);
  EXPECT_FALSE(drain_doorbell(-1));
}

TEST(Word, LetsNobodySleepWhenItHasChanged) {
  const std::atomic<std::uint32_t> word{2};
  const auto begin = Steady::now();
  wait_on_word(word, 1, 60s);
  EXPECT_LT(Steady::now() - begin, 30s);
}

TEST(Word, LetsASleeperGoAfterItsTime) {
  const std::atomic<std::uint32_t> word{1};
  const auto begin = Steady::now();
  wait_on_word(word, 1, 2ms);
  EXPECT_LT(Steady::now() - begin, 30s);
  wait_on_word(word, 1, 0ms);
  wait_on_word(word, 1, -1s);
  EXPECT_LT(Steady::now() - begin, 30s);
}

TEST(Word, WakesASleeperThroughAMappingThatItCannotWrite) {
  const auto memory = create_memory("deepinfer-test", kPage);
  ASSERT_OK(memory);
  const auto owner = Mapping::map(memory->number(), kPage, Access::kReadWrite);
  const auto reader = Mapping::map(memory->number(), kPage, Access::kRead);
  ASSERT_OK(owner);
  ASSERT_OK(reader);
  auto& written = *new (owner->data()) std::atomic<std::uint32_t>(1);
  const auto& read = *reinterpret_cast<const std::atomic<std::uint32_t>*>(reader->data());

  std::atomic<bool> is_awake{false};
  std::thread sleeper([&] {
    wait_on_word(read, 1, 60s);
    is_awake = true;
  });
  // Woken without a change of the word, as for a flag. It may not sleep yet: again until it does.
  const auto begin = Steady::now();
  while (!is_awake && Steady::now() - begin < 30s) {
    wake_word(written);
    std::this_thread::yield();
  }
  EXPECT_TRUE(is_awake);
  sleeper.join();
}

}  // namespace
}  // namespace deepinfer::ipc
