#include "ipc/socket_address.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/socket.h"

namespace deepinfer::ipc {
namespace {

constexpr const char* kSocketName = "deepinferd.sock";

std::string environment(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in this project changes the environment
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Of a user without a runtime folder, as in a container or after su.
std::filesystem::path folder_in_tmp() { return "/tmp/deepinfer-" + std::to_string(::geteuid()); }

enum class Presence : std::uint8_t { kAbsent, kPresent, kHidden };

Presence presence_of(const std::filesystem::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) return Presence::kPresent;
  return errno == EACCES ? Presence::kHidden : Presence::kAbsent;
}

std::string octal(mode_t mode) {
  std::string text = "0";
  for (int shift = 6; shift >= 0; shift -= 3) {
    text += static_cast<char>('0' + ((mode >> static_cast<unsigned>(shift)) & 7U));
  }
  return text;
}

}  // namespace

std::filesystem::path system_socket_path() {
  return std::filesystem::path("/run/deepinfer") / kSocketName;
}

std::filesystem::path user_socket_path() {
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  // The specification has relative paths ignored.
  if (!runtime.starts_with('/')) return folder_in_tmp() / kSocketName;
  return std::filesystem::path(runtime) / "deepinfer" / kSocketName;
}

std::filesystem::path client_socket_path() {
  const std::string named = environment("DEEPINFER_IPC__SOCKET");
  if (!named.empty()) return named;
  if (::geteuid() == 0) return system_socket_path();
  const Presence system = presence_of(system_socket_path());
  const std::filesystem::path users = user_socket_path();
  // Who may not look into the system's folder shall hear so, unless a daemon of their own runs.
  const bool is_system = system == Presence::kPresent ||
                         (system == Presence::kHidden && presence_of(users) != Presence::kPresent);
  return is_system ? system_socket_path() : users;
}

Result<sockaddr_un> address_of(const std::filesystem::path& path) {
  const std::string& text = path.native();
  if (text.empty()) return fail(ErrorCode::kInvalidArgument, "the socket's path is empty");
  if (text.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "the socket's path has a zero byte in it");
  }
  if (text.size() > kMostPathBytes) {
    return fail(ErrorCode::kInvalidArgument, "the socket's path " + text + " has " +
                                                 std::to_string(text.size()) + " bytes, at most " +
                                                 std::to_string(kMostPathBytes) + " are possible");
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(std::data(address.sun_path), text.data(), text.size());
  return address;
}

Status check_folder(const std::filesystem::path& socket_path) {
  const std::filesystem::path folder = socket_path.parent_path();
  return folder == folder_in_tmp() ? check_private(folder) : Status(Done{});
}

Status check_private(const std::filesystem::path& folder) {
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0) return Done{};
  if (!S_ISDIR(facts.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, folder.string() + " is not a folder");
  }
  if (facts.st_uid != ::geteuid()) {
    return fail(ErrorCode::kInvalidArgument,
                folder.string() + " belongs to uid " + std::to_string(facts.st_uid) +
                    ", not to this process' uid " + std::to_string(::geteuid()));
  }
  if ((facts.st_mode & 077U) != 0) {
    return fail(
        ErrorCode::kInvalidArgument,
        folder.string() + " has mode " + octal(facts.st_mode & 0777U) + ", allowed is 0700");
  }
  return Done{};
}

}  // namespace deepinfer::ipc
