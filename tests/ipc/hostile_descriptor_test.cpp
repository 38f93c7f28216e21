// A submission with every field at its extremes: refused alone, and the next one is taken.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::uint64_t kUserData = 0xFEDCBA9876543210;

// What an honest client would write.
SubmissionHeader honest(std::uint32_t sequence) {
  SubmissionHeader header;
  header.sequence = sequence;
  header.operation = static_cast<std::uint16_t>(Operation::kSubmit);
  header.user_data = kUserData;
  header.descriptor_offset = kInline;
  header.descriptor_bytes = 8;
  return header;
}

struct Place {
  std::uint64_t offset;
  std::uint32_t bytes;
};

class HostileDescriptor : public SharedPair, public testing::Test {
 protected:
  // Writes `header` as submission number `published_` and takes it.
  void take(const SubmissionHeader& header) {
    write_slot(published_, header);
    client_words().published.value.store(++published_, std::memory_order_release);
    const auto has_one = daemon().take(submission);
    ASSERT_OK(has_one);
    ASSERT_TRUE(*has_one);
  }

  // Refused alone, in words, with its number; and the one after it is taken.
  void expect_refused(const std::function<void(SubmissionHeader&)>& spoil, const std::string& why) {
    SCOPED_TRACE(why);
    SubmissionHeader header = honest(published_);
    spoil(header);
    take(header);
    EXPECT_NE(submission.problem.find(why), std::string::npos) << submission.problem;
    EXPECT_EQ(submission.user_data, header.user_data);
    EXPECT_TRUE(submission.descriptor.empty());

    take(honest(published_));
    EXPECT_EQ(submission.problem, "");
    EXPECT_EQ(submission.user_data, kUserData);
    EXPECT_EQ(submission.descriptor.size(), 1U);
  }

  void expect_taken(const std::function<void(SubmissionHeader&)>& change) {
    SubmissionHeader header = honest(published_);
    change(header);
    take(header);
    EXPECT_EQ(submission.problem, "");
    EXPECT_EQ(submission.descriptor.size() * 8, header.descriptor_bytes);
  }

  Submission submission;

 private:
  std::uint32_t published_ = 0;
};

TEST_F(HostileDescriptor, MayBringAnyNumber) {
  for (const std::uint64_t number : {std::uint64_t{0}, kMost, std::uint64_t{1} << 63U}) {
    expect_taken([&](auto& header) { header.user_data = number; });
    EXPECT_EQ(submission.user_data, number);
  }
}

TEST_F(HostileDescriptor, IsRefusedWithAnUnknownOperation) {
  constexpr std::uint16_t kUnknown[]{3, 4, 255, 256, 0x7FFF, 0x8000, 0xFFFF};
  for (const std::uint16_t operation : kUnknown) {
    expect_refused([&](auto& header) { header.operation = operation; }, "is unknown");
    EXPECT_EQ(submission.operation, Operation::kSubmit);  // of the one after it
  }
}

TEST_F(HostileDescriptor, IsRefusedWhenAReservedFieldIsSet) {
  constexpr std::uint16_t kFlags[]{1, 0x8000, 0xFFFF};
  for (const std::uint16_t flags : kFlags) {
    expect_refused([&](auto& header) { header.flags = flags; }, "must be zero");
  }
  for (const std::uint32_t value : {1U, 0x80000000U, ~0U}) {
    expect_refused([&](auto& header) { header.reserved0 = value; }, "must be zero");
  }
  for (int i = 0; i < 4; ++i) {
    expect_refused([&](auto& header) { header.reserved[i] = kMost; }, "must be zero");
    expect_refused([&](auto& header) { header.reserved[i] = 1; }, "must be zero");
  }
}

TEST_F(HostileDescriptor, IsRefusedOneByteAboveTheSlot) {
  expect_taken([](auto& header) { header.descriptor_bytes = kMaxInlineBytes; });
  expect_refused([](auto& header) { header.descriptor_bytes = kMaxInlineBytes + 1; }, "words");
  expect_refused([](auto& header) { header.descriptor_bytes = kMaxInlineBytes + 8; }, "slot");
}

TEST_F(HostileDescriptor, IsRefusedWithAnyOtherLengthThatASlotCannotHold) {
  for (const std::uint32_t bytes : {1U, 7U, 9U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    expect_refused([&](auto& header) { header.descriptor_bytes = bytes; }, "words");
  }
  for (const std::uint32_t bytes : {1024U, 4096U, 0x80000000U, 0xFFFFFFF8U}) {
    expect_refused([&](auto& header) { header.descriptor_bytes = bytes; }, "slot");
  }
  expect_taken([](auto& header) { header.descriptor_bytes = 0; });
}

TEST_F(HostileDescriptor, IsRefusedOutsideTheArena) {
  const std::uint64_t arena = kSmall.arena_bytes;
  for (const Place& outside :
       {Place{arena - 8, 16}, Place{arena, 8}, Place{arena + 8, 0}, Place{0, 65536 + 8},
        Place{kMost - 7, 8}, Place{kMost - 7, 16}, Place{kMost - 15, 16},
        Place{std::uint64_t{1} << 63U, 8}, Place{std::uint64_t{1} << 32U, 8}}) {
    expect_refused(
        [&](auto& header) {
          header.descriptor_offset = outside.offset;
          header.descriptor_bytes = outside.bytes;
        },
        "leaves the arena");
  }
}

TEST_F(HostileDescriptor, IsTakenAtTheArenasEdges) {
  const auto arena = static_cast<std::uint32_t>(kSmall.arena_bytes);
  for (const Place& edge : {Place{0, 8}, Place{arena - 8, 8}, Place{0, arena}, Place{arena, 0}}) {
    expect_taken([&](auto& header) {
      header.descriptor_offset = edge.offset;
      header.descriptor_bytes = edge.bytes;
    });
  }
}

TEST_F(HostileDescriptor, IsRefusedWhenItIsNotAligned) {
  for (const std::uint64_t offset : {1U, 4U, 7U}) {
    expect_refused([&](auto& header) { header.descriptor_offset = offset; }, "aligned");
  }
}

TEST_F(HostileDescriptor, IsRefusedInACancellation) {
  expect_refused(
      [](auto& header) { header.operation = static_cast<std::uint16_t>(Operation::kCancel); },
      "cancellation");
}

TEST(HostileLargeDescriptor, IsRefusedAboveTheGreatestSize) {
  Geometry geometry = kSmall;
  geometry.arena_bytes = 2 * kMaxDescriptorBytes;
  SharedPair pair(geometry);
  Submission submission;
  const auto take = [&](std::uint32_t sequence, std::size_t bytes) {
    SubmissionHeader header = honest(sequence);
    header.descriptor_offset = 0;
    header.descriptor_bytes = static_cast<std::uint32_t>(bytes);
    pair.write_slot(sequence, header);
    pair.client_words().published.value.store(sequence + 1);
    EXPECT_TRUE(*pair.daemon().take(submission));
  };
  take(0, kMaxDescriptorBytes);
  EXPECT_EQ(submission.problem, "");
  EXPECT_EQ(submission.descriptor.size() * 8, kMaxDescriptorBytes);
  take(1, kMaxDescriptorBytes + 8);
  EXPECT_NE(submission.problem, "");
  EXPECT_TRUE(submission.descriptor.empty());
}

}  // namespace
}  // namespace deepinfer::ipc
