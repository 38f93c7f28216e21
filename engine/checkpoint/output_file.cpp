#include "engine/checkpoint/output_file.h"

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace deepinfer::engine {
namespace {

Error failed(const std::string& name) {
  return fail(ErrorCode::kInvalidArgument,
              "cannot write " + name + ": " + std::generic_category().message(errno));
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::filesystem::path& path) {
  constexpr mode_t kMode = 0666;  // the umask takes away what the user does not want
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  if (descriptor < 0) return failed(path.string());
  return std::unique_ptr<OutputFile>(new OutputFile(path.string(), descriptor));
}

OutputFile::OutputFile(std::string name, int descriptor)
    : name_(std::move(name)), descriptor_(descriptor) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error OutputFile::failure() const { return failed(name_); }

Status OutputFile::write(std::span<const std::uint8_t> bytes) {
  hash_.update(bytes);
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure();
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return Done{};
}

Status OutputFile::extend(std::int64_t size) {
  if (::ftruncate(descriptor_, size) != 0) return failure();
  return Done{};
}

Result<std::string> OutputFile::finish() {
  if (::close(std::exchange(descriptor_, -1)) != 0) return failure();
  return hash_.finish();
}

}  // namespace deepinfer::engine
