#include "config/file.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "config/toml_settings.h"

namespace deepinfer::config {
namespace {

constexpr std::size_t kMostBytes = 1U << 20U;

// Read to its end rather than measured first: a pipe is as good as a file.
Result<std::string> read_all(const FileDescriptor& file) {
  std::string text;
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t count = ::read(file.number(), buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::kInvalidArgument, "cannot read: " + last_system_error());
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMostBytes) {
      return fail(ErrorCode::kInvalidArgument,
                  "more than " + std::to_string(kMostBytes) + " bytes for a configuration");
    }
  }
}

}  // namespace

void apply_file(const std::filesystem::path& path, Presence presence, Assignments& state) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    if (is_missing && presence == Presence::kOptional) return;
    state.problems.push_back({"cannot open the configuration: " + last_system_error(),
                              path.string(), "name a file that can be read, in --config"});
    return;
  }
  const auto text = read_all(file);
  if (!text) {
    state.problems.push_back(
        {text.error().message, path.string(), "name a configuration file, in --config"});
    return;
  }
  apply_toml(*text, path.string(), state);
}

}  // namespace deepinfer::config
