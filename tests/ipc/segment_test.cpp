// Seals and mappings: what a peer that holds the descriptors can do to them, and what it cannot.
#include "ipc/segment.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/ipc/session_pair.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::ipc {
namespace {

constexpr std::uint64_t kBytes = 8 * kPage;

FileDescriptor memory_of(std::uint64_t bytes) {
  auto memory = create_memory("deepinfer-test", bytes);
  EXPECT_TRUE(memory.has_value());
  return *std::move(memory);
}

// Made, mapped and sealed as the owner of a segment does.
struct Owned {
  FileDescriptor descriptor = memory_of(kBytes);
  Result<Mapping> mapping = Mapping::map(descriptor.number(), kBytes, Access::kReadWrite);

  explicit Owned(Sealing sealing) {
    EXPECT_TRUE(mapping.has_value());
    EXPECT_TRUE(seal_memory(descriptor.number(), sealing).has_value());
  }
};

int error_of(long outcome) { return outcome < 0 ? errno : 0; }

// The flags that /proc gives for the mapping that begins at `address`, for example "rd wr sh dc dd".
std::string kernel_flags(const std::byte* address) {
  std::ostringstream begin;
  begin << std::hex << reinterpret_cast<std::uintptr_t>(address) << '-';
  std::ifstream smaps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) is_inside = line.starts_with(begin.str());
    if (is_inside && line.starts_with("VmFlags:")) return line + " ";
  }
  return {};
}

TEST(Segment, IsZeroFilledAndShared) {
  const FileDescriptor memory = memory_of(kBytes);
  const auto first = Mapping::map(memory.number(), kBytes, Access::kReadWrite);
  const auto second = Mapping::map(memory.number(), kBytes, Access::kRead);
  ASSERT_OK(first);
  ASSERT_OK(second);

  EXPECT_EQ(first->size_bytes(), kBytes);
  for (std::uint64_t i = 0; i < kBytes; ++i) EXPECT_EQ(second->data()[i], std::byte{0});
  first->data()[kBytes - 1] = std::byte{7};
  EXPECT_EQ(second->data()[kBytes - 1], std::byte{7});
}

TEST(Segment, OutlivesItsDescriptorAndMoves) {
  FileDescriptor memory = memory_of(kBytes);
  auto mapped = Mapping::map(memory.number(), kBytes, Access::kReadWrite);
  ASSERT_OK(mapped);
  { const FileDescriptor closed = std::move(memory); }
  Mapping moved = *std::move(mapped);
  moved.data()[0] = std::byte{1};
  EXPECT_EQ(moved.data()[0], std::byte{1});
}

TEST(Segment, IsNotInheritedAndNotDumped) {
  const FileDescriptor memory = memory_of(kBytes);
  const auto mapping = Mapping::map(memory.number(), kBytes, Access::kRead);
  ASSERT_OK(mapping);
  const std::string flags = kernel_flags(mapping->data());
  EXPECT_NE(flags.find(" dc "), std::string::npos) << flags;  // do not copy on fork
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;  // do not include into core dump
  EXPECT_NE(::fcntl(memory.number(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Segment, CannotBeResizedOnceSealed) {
  for (const Sealing sealing : {Sealing::kBothWrite, Sealing::kOwnerOnly}) {
    const Owned owned(sealing);
    const int descriptor = owned.descriptor.number();
    EXPECT_EQ(error_of(::ftruncate(descriptor, 0)), EPERM);
    EXPECT_EQ(error_of(::ftruncate(descriptor, 2 * kBytes)), EPERM);
    EXPECT_EQ(error_of(::pwrite(descriptor, "x", 1, kBytes)), EPERM);
    EXPECT_EQ(error_of(::fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE)), EPERM);
    EXPECT_TRUE(check_memory(descriptor, kBytes, sealing).has_value());
  }
}

TEST(Segment, CannotBeWrittenByAnybodyElseWhenItIsTheOwners) {
  const Owned owned(Sealing::kOwnerOnly);
  const int descriptor = owned.descriptor.number();
  owned.mapping->data()[0] = std::byte{7};

  EXPECT_FAILS(Mapping::map(descriptor, kBytes, Access::kReadWrite), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of(::pwrite(descriptor, "x", 1, 0)), EPERM);
  EXPECT_EQ(error_of(::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage)),
            EPERM);
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const FileDescriptor reopened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_FAILS(Mapping::map(reopened.number(), kBytes, Access::kReadWrite),
               ErrorCode::kInvalidArgument);
  const auto read_only = Mapping::map(descriptor, kBytes, Access::kRead);
  ASSERT_OK(read_only);
  EXPECT_EQ(error_of(::mprotect(read_only->data(), kBytes, PROT_READ | PROT_WRITE)), EACCES);
  EXPECT_EQ(read_only->data()[0], std::byte{7});
}

TEST(Segment, ReadsAsZerosWhereAPeerPunchesAHole) {
  const Owned owned(Sealing::kBothWrite);
  owned.mapping->data()[0] = std::byte{7};
  ASSERT_EQ(
      ::fallocate(owned.descriptor.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes),
      0);
  EXPECT_EQ(owned.mapping->data()[0], std::byte{0});
}

TEST(Segment, IsRefusedWhenItsSizeOrSealsAreNotAsPromised) {
  const Owned both(Sealing::kBothWrite);
  EXPECT_FAILS(check_memory(both.descriptor.number(), kBytes, Sealing::kOwnerOnly),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(check_memory(both.descriptor.number(), kBytes - 1, Sealing::kBothWrite),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(check_memory(both.descriptor.number(), kBytes + kPage, Sealing::kBothWrite),
               ErrorCode::kInvalidArgument);
  const FileDescriptor unsealed = memory_of(kBytes);
  EXPECT_FAILS(check_memory(unsealed.number(), kBytes, Sealing::kBothWrite),
               ErrorCode::kInvalidArgument);
}

TEST(Segment, IsRefusedWhenItIsSomethingElse) {
  const FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto doorbell = create_doorbell();
  ASSERT_OK(doorbell);
  for (const int descriptor : {-1, file.number(), doorbell->number()}) {
    EXPECT_FAILS(check_memory(descriptor, kBytes, Sealing::kBothWrite),
                 ErrorCode::kInvalidArgument);
    EXPECT_FAILS(Mapping::map(descriptor, kBytes, Access::kRead), ErrorCode::kInvalidArgument);
  }
}

TEST(Segment, RefusesSizesThatNoProcessCanMap) {
  const FileDescriptor memory = memory_of(kBytes);
  EXPECT_FAILS(Mapping::map(memory.number(), 0, Access::kRead), ErrorCode::kInvalidArgument);
  EXPECT_FAILS(Mapping::map(memory.number(), std::uint64_t{1} << 60U, Access::kRead),
               ErrorCode::kResourceExhausted);
  EXPECT_FALSE(create_memory("deepinfer-test", ~std::uint64_t{0}).has_value());
}

TEST(Segment, SaysWhenDescriptorsRunOut) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const FileDescriptor next = duplicate(0);  // the lowest free number
  const rlimit none{static_cast<rlim_t>(next.number()) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FAILS(create_memory("deepinfer-test", kBytes), ErrorCode::kResourceExhausted);
  EXPECT_FAILS(create_doorbell(), ErrorCode::kResourceExhausted);
  EXPECT_FAILS(DaemonEnd::create(kSmall, kSession, kEpoch), ErrorCode::kResourceExhausted);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace deepinfer::ipc
