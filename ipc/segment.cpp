#include "ipc/segment.h"

#include <cerrno>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <boost/version.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace deepinfer::ipc {
namespace {

namespace bi = boost::interprocess;
static_assert(BOOST_VERSION >= 108100, "Boost 1.81 or later: Debian's package libboost1.81-dev");

// MFD_NOEXEC_SEAL of Linux 6.3, which the C library of Debian 12 does not name. Some systems insist on it.
constexpr unsigned kNoExecution = 8;

// What mapped_region asks of something that can be mapped.
class MappableMemory {
 public:
  MappableMemory(int descriptor, bi::mode_t mode) : descriptor_(descriptor), mode_(mode) {}
  [[nodiscard]] bi::mapping_handle_t get_mapping_handle() const {
    return bi::ipcdetail::mapping_handle_from_file_handle(descriptor_);
  }
  [[nodiscard]] bi::mode_t get_mode() const { return mode_; }

 private:
  int descriptor_;
  bi::mode_t mode_;
};

ErrorCode code_of(int system_error) {
  switch (system_error) {
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EAGAIN:
      return ErrorCode::kResourceExhausted;
    default:
      return ErrorCode::kInvalidArgument;
  }
}

Error failure(const char* call, int system_error) {
  return fail(code_of(system_error),
              std::string(call) + ": " + std::generic_category().message(system_error));
}

int seals_of(Sealing sealing) {
  const int both = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  return sealing == Sealing::kBothWrite ? both : both | F_SEAL_FUTURE_WRITE;
}

Result<bi::mapped_region> map_region(int descriptor, std::uint64_t bytes, Access access) {
  const bi::mode_t mode = access == Access::kRead ? bi::read_only : bi::read_write;
  try {
    return bi::mapped_region(MappableMemory(descriptor, mode), mode, 0, bytes);
  } catch (const bi::interprocess_exception& thrown) {
    return failure("mmap", thrown.get_native_error());
  }
}

}  // namespace

struct Mapping::Region {
  bi::mapped_region region;
};

Mapping::Mapping(std::unique_ptr<Region> region) : region_(std::move(region)) {}
Mapping::Mapping(Mapping&&) noexcept = default;
Mapping& Mapping::operator=(Mapping&&) noexcept = default;
Mapping::~Mapping() = default;

Result<Mapping> Mapping::map(int descriptor, std::uint64_t bytes, Access access) {
  // Boost takes zero for "all there is".
  if (bytes == 0) return fail(ErrorCode::kInvalidArgument, "a mapping of 0 bytes");
  DEEPINFER_TRY(bi::mapped_region region, map_region(descriptor, bytes, access));
  for (const int advice : {MADV_DONTFORK, MADV_DONTDUMP}) {
    if (::madvise(region.get_address(), bytes, advice) != 0) return failure("madvise", errno);
  }
  return Mapping(std::make_unique<Region>(Region{std::move(region)}));
}

std::byte* Mapping::data() const { return static_cast<std::byte*>(region_->region.get_address()); }

std::uint64_t Mapping::size_bytes() const { return region_->region.get_size(); }

Result<FileDescriptor> create_memory(const char* name, std::uint64_t bytes) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int number = ::memfd_create(name, flags | kNoExecution);
  if (number < 0 && errno == EINVAL) number = ::memfd_create(name, flags);  // before Linux 6.3
  if (number < 0) return failure("memfd_create", errno);
  FileDescriptor memory(number);
  if (::ftruncate(number, static_cast<off_t>(bytes)) != 0) return failure("ftruncate", errno);
  return memory;
}

Status seal_memory(int descriptor, Sealing sealing) {
  const int added = ::fcntl(descriptor, F_ADD_SEALS, seals_of(sealing));
  if (added != 0) return failure("F_ADD_SEALS", errno);
  return Done{};
}

Status check_memory(int descriptor, std::uint64_t bytes, Sealing sealing) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0) return fail(ErrorCode::kInvalidArgument, "not memory that can be sealed");
  const int wanted = seals_of(sealing);
  if ((seals & wanted) != wanted) {
    return fail(ErrorCode::kInvalidArgument,
                "seals " + std::to_string(seals) + " instead of " + std::to_string(wanted));
  }
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return failure("fstat", errno);
  if (facts.st_size < 0 || static_cast<std::uint64_t>(facts.st_size) != bytes) {
    return fail(ErrorCode::kInvalidArgument, "a segment of " + std::to_string(facts.st_size) +
                                                 " bytes instead of " + std::to_string(bytes));
  }
  return Done{};
}

}  // namespace deepinfer::ipc
