// A session as two processes make it: created, handed over, attached, and gone without a trace.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/segment.h"
#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

std::int64_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

std::int64_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::int64_t found = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:deepinfer") != std::string::npos) ++found;
  }
  return found;
}

std::unique_ptr<DaemonEnd> create(const Geometry& geometry = kSmall) {
  auto created = DaemonEnd::create(geometry, kSession, kEpoch);
  EXPECT_TRUE(created.has_value());
  return *std::move(created);
}

FileDescriptor sealed_memory(std::uint64_t bytes, Sealing sealing) {
  auto memory = create_memory("deepinfer-test", bytes);
  EXPECT_TRUE(memory.has_value());
  EXPECT_TRUE(seal_memory(memory->number(), sealing).has_value());
  return *std::move(memory);
}

// Attaches to what `daemon` gives out after `spoil` has replaced some of it.
ErrorCode code_of_attach(const DaemonEnd& daemon,
                         const std::function<void(SessionDescriptors&)>& spoil,
                         const Geometry& geometry = kSmall, std::uint64_t session = kSession) {
  SessionDescriptors descriptors = received(daemon);
  spoil(descriptors);
  const auto attached = ClientEnd::attach(std::move(descriptors), geometry, session);
  EXPECT_FALSE(attached.has_value());
  return attached.has_value() ? ErrorCode::kInternal : attached.error().code;
}

TEST(Attach, CarriesARequestThereAndBack) {
  const RealPair pair;
  pair.daemon->forget_client_descriptors();
  const std::vector<std::uint64_t> descriptor{1, 2, 3};
  ASSERT_TRUE(*pair.client->submit(Operation::kSubmit, 5, descriptor));
  Submission submission;
  ASSERT_TRUE(*pair.daemon->take(submission));
  EXPECT_EQ(submission.descriptor, descriptor);

  const auto result = pattern(1000, 1);
  ASSERT_TRUE(*pair.daemon->publish(CompletionKind::kResult, 5, result));
  pair.daemon->wake();
  Completion completion;
  std::vector<std::byte> payload;
  ASSERT_TRUE(*pair.client->next(completion, payload));
  EXPECT_EQ(payload, result);
}

TEST(Attach, MarksBothSegmentsForAReaderOfCoreDumps) {
  const RealPair pair;
  const auto [c2d, d2c, doorbell] = pair.daemon->client_descriptors();
  const auto client = Mapping::map(c2d, c2d_bytes(kSmall), Access::kRead);
  const auto daemon = Mapping::map(d2c, d2c_bytes(kSmall), Access::kRead);
  ASSERT_OK(client);
  ASSERT_OK(daemon);

  const auto& client_words = *reinterpret_cast<const ClientWords*>(client->data());
  const auto& daemon_words = *reinterpret_cast<const DaemonWords*>(daemon->data());
  EXPECT_EQ(client_words.magic, kMagic);
  EXPECT_EQ(client_words.abi_major, kAbiMajor);
  EXPECT_EQ(client_words.session, kSession);
  EXPECT_EQ(daemon_words.magic, kMagic);
  EXPECT_EQ(daemon_words.abi_major, kAbiMajor);
  EXPECT_EQ(daemon_words.session, kSession);
  EXPECT_EQ(daemon_words.epoch, kEpoch);
}

TEST(Attach, ClosesWhatIsNoLongerNeeded) {
  const auto before = open_descriptors();
  const RealPair pair;
  // The daemon's three and the client's doorbell.
  EXPECT_EQ(open_descriptors(), before + 4);
  pair.daemon->forget_client_descriptors();
  EXPECT_EQ(open_descriptors(), before + 2);
  EXPECT_EQ(pair.daemon->client_descriptors()[0], -1);
  EXPECT_EQ(pair.daemon->client_descriptors()[1], -1);
}

TEST(Attach, LetsTheClientReadWhatWasPublishedAfterTheDaemonHasGone) {
  RealPair pair;
  ASSERT_TRUE(*pair.daemon->publish(CompletionKind::kResult, 5, pattern(1000, 1)));
  pair.daemon.reset();
  Completion completion;
  std::vector<std::byte> payload;
  ASSERT_TRUE(*pair.client->next(completion, payload));
  EXPECT_EQ(payload, pattern(1000, 1));
  EXPECT_TRUE(*pair.client->submit(Operation::kNothing, 6, {}));
}

TEST(Attach, LetsTheDaemonGoOnAfterTheClientHasGone) {
  RealPair pair;
  ASSERT_TRUE(*pair.client->submit(Operation::kNothing, 5, {}));
  pair.client.reset();
  Submission submission;
  EXPECT_TRUE(*pair.daemon->take(submission));
  EXPECT_TRUE(*pair.daemon->publish(CompletionKind::kNothingDone, 5, {}));
  pair.daemon->wake();
}

TEST(Attach, RefusesSizesThatWereNotPromised) {
  const auto daemon = create();
  const auto nothing = [](SessionDescriptors&) {};
  Geometry greater = kSmall;
  greater.arena_bytes *= 2;
  EXPECT_EQ(code_of_attach(*daemon, nothing, greater), ErrorCode::kInvalidArgument);
  greater = kSmall;
  greater.completion_entries = 1024;
  EXPECT_EQ(code_of_attach(*daemon, nothing, greater), ErrorCode::kInvalidArgument);
  Geometry impossible = kSmall;
  impossible.submission_entries = 3;
  EXPECT_EQ(code_of_attach(*daemon, nothing, impossible), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(DaemonEnd::create(impossible, kSession, kEpoch), ErrorCode::kInvalidArgument);
}

TEST(Attach, RefusesAnotherSession) {
  const auto daemon = create();
  EXPECT_EQ(code_of_attach(
                *daemon, [](SessionDescriptors&) {}, kSmall, kSession + 1),
            ErrorCode::kInvalidArgument);
}

TEST(Attach, RefusesMemoryThatIsNotSealedAsPromised) {
  const auto daemon = create();
  const auto unsealed = [](std::uint64_t bytes) {
    auto memory = create_memory("deepinfer-test", bytes);
    EXPECT_TRUE(memory.has_value());
    return *std::move(memory);
  };
  EXPECT_EQ(code_of_attach(*daemon, [&](auto& given) { given.c2d = unsealed(c2d_bytes(kSmall)); }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of_attach(*daemon, [&](auto& given) { given.d2c = unsealed(d2c_bytes(kSmall)); }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of_attach(*daemon,
                           [&](auto& given) {
                             given.d2c = sealed_memory(d2c_bytes(kSmall), Sealing::kBothWrite);
                           }),
            ErrorCode::kInvalidArgument);
}

TEST(Attach, RefusesDescriptorsThatAreMissingOrMixedUp) {
  const auto daemon = create();
  EXPECT_EQ(code_of_attach(*daemon, [](auto& given) { std::swap(given.c2d, given.d2c); }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of_attach(*daemon, [](auto& given) { std::swap(given.c2d, given.doorbell); }),
            ErrorCode::kInvalidArgument);
  const auto close = [](FileDescriptor& descriptor) {
    const FileDescriptor closed = std::move(descriptor);
  };
  EXPECT_EQ(code_of_attach(*daemon, [&](auto& given) { close(given.c2d); }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of_attach(*daemon, [&](auto& given) { close(given.d2c); }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of_attach(*daemon, [&](auto& given) { close(given.doorbell); }),
            ErrorCode::kInvalidArgument);
}

TEST(Attach, RefusesMemoryOfAnotherVersion) {
  const auto daemon = create();
  // All zeros: neither the mark nor the version.
  EXPECT_EQ(code_of_attach(*daemon,
                           [](auto& given) {
                             given.d2c = sealed_memory(d2c_bytes(kSmall), Sealing::kOwnerOnly);
                           }),
            ErrorCode::kInvalidArgument);
}

TEST(Attach, LeavesNothingBehindWhenItFails) {
  const auto daemon = create();
  const auto descriptors = open_descriptors();
  const auto segments = mapped_segments();
  static_cast<void>(code_of_attach(
      *daemon, [](SessionDescriptors&) {}, kSmall, kSession + 1));
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(mapped_segments(), segments);
}

TEST(Attach, CostsFourPagesUntilItIsUsed) {
  const RealPair pair(Geometry{});
  std::int64_t bytes = 0;
  for (const int descriptor :
       {pair.daemon->client_descriptors()[0], pair.daemon->client_descriptors()[1]}) {
    struct stat facts {};
    ASSERT_EQ(::fstat(descriptor, &facts), 0);
    bytes += facts.st_blocks * 512;
  }
  EXPECT_LE(bytes, 16 << 10);
}

TEST(Attach, LeavesNothingBehindAfterAThousandSessions) {
  const auto descriptors = open_descriptors();
  const auto segments = mapped_segments();
  for (int i = 0; i < 1000; ++i) {
    const RealPair pair;
    ASSERT_TRUE(*pair.client->submit(Operation::kNothing, 1, {}));
    if (i % 2 == 0) pair.daemon->forget_client_descriptors();
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(mapped_segments(), segments);
}

// Runs `client` in another process, which ends at once after it.
template <typename Client>
void run_as_client(Client client) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(client() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Attach, IgnoresASubmissionWhoseClientDiedBeforePublishingIt) {
  const auto daemon = create();
  run_as_client([&] {
    const auto mapping =
        Mapping::map(daemon->client_descriptors()[0], c2d_bytes(kSmall), Access::kReadWrite);
    if (!mapping) return false;
    SubmissionHeader half;
    half.operation = 2;
    std::memcpy(mapping->data() + kPage, &half, sizeof(half) / 2);
    return true;
  });
  Submission submission;
  const auto has_one = daemon->take(submission);
  ASSERT_OK(has_one);
  EXPECT_FALSE(*has_one);
  EXPECT_TRUE(daemon->prepare_sleep());
}

TEST(Attach, TakesASubmissionWhoseClientDiedBeforeRinging) {
  const auto daemon = create();
  ASSERT_TRUE(daemon->prepare_sleep());
  run_as_client([&] {
    auto client = ClientEnd::attach(received(*daemon), kSmall, kSession);
    return client && *(*client)->submit(Operation::kNothing, 7, {});
  });
  daemon->end_sleep();
  Submission submission;
  ASSERT_TRUE(*daemon->take(submission));
  EXPECT_EQ(submission.user_data, 7U);
  EXPECT_FALSE(*daemon->take(submission));
}

TEST(Attach, SurvivesAClientThatDiesWithoutReleasingResults) {
  const auto daemon = create();
  ASSERT_TRUE(*daemon->publish(CompletionKind::kResult, 1, pattern(32768, 1)));
  run_as_client([&] {
    auto client = ClientEnd::attach(received(*daemon), kSmall, kSession);
    return client.has_value();  // holds its completion and never says so
  });
  EXPECT_TRUE(*daemon->publish(CompletionKind::kResult, 2, pattern(32768, 1)));
  EXPECT_FALSE(*daemon->publish(CompletionKind::kResult, 3, pattern(32768, 1)));
  daemon->wake();
}

}  // namespace
}  // namespace deepinfer::ipc
