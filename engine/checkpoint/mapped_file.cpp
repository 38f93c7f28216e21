#include "engine/checkpoint/mapped_file.h"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace deepinfer::engine {
namespace {

Error fail_errno(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what + ": " + std::generic_category().message(errno));
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) return fail_errno("cannot open the file");
  struct stat status = {};
  if (::fstat(file.value(), &status) != 0) return fail_errno("cannot read the file's size");
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalidArgument, "not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.value(), 0);
  if (data == MAP_FAILED) return fail_errno("cannot map the file");
  return MappedFile(static_cast<const std::uint8_t*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  // What was mapped here is unmapped by `other`'s destructor.
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  // munmap takes a pointer to non-const, though it changes nothing that was written.
  ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

Result<std::string> read_text(const std::filesystem::path& path, std::size_t limit) {
  DEEPINFER_TRY(const MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > limit) {
    return fail(ErrorCode::kInvalidArgument, "the file has " + std::to_string(file.bytes().size()) +
                                                 " bytes, over the limit of " +
                                                 std::to_string(limit));
  }
  return std::string(file.bytes().begin(), file.bytes().end());
}

}  // namespace deepinfer::engine
