#include "config/accounts.h"

#include <cerrno>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include <grp.h>
#include <pwd.h>

#include "config/values.h"

namespace deepinfer::config {
namespace {

// A group with thousands of members takes a buffer of this order; more is not an entry we can use.
constexpr std::size_t kFirstBuffer = 4096;
constexpr std::size_t kMostBuffer = 1U << 20U;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("-0123456789") == std::string_view::npos;
}

// The greatest id means "no id" to the system calls.
Result<std::uint32_t> number_of(std::string_view text) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max() - 1;
  DEEPINFER_TRY(const std::int64_t value, parse_integer(text));
  if (value >= 0 && value <= kMost) return static_cast<std::uint32_t>(value);
  return fail(ErrorCode::kInvalidArgument,
              "expected an id of 0 to " + std::to_string(kMost) + ", got " + std::to_string(value));
}

// Calls `find(buffer, found)` with a greater buffer until it fits. `find` returns an errno value.
template <typename Find>
Result<std::uint32_t> look_up(std::string_view kind, std::string_view name, Find find) {
  for (std::size_t size = kFirstBuffer; size <= kMostBuffer; size *= 4) {
    std::vector<char> buffer(size);
    const std::uint32_t* id = nullptr;
    const int code = find(buffer, id);
    if (code == ERANGE) continue;
    if (id != nullptr) return *id;
    // The other codes of "not there", as getpwnam(3) lists them.
    if (code == 0 || code == ENOENT || code == ESRCH || code == EBADF || code == EPERM) {
      return fail(ErrorCode::kInvalidArgument,
                  "no " + std::string(kind) + " is named \"" + std::string(name) + "\"");
    }
    return fail(ErrorCode::kResourceExhausted, "cannot look up the " + std::string(kind) + " \"" +
                                                   std::string(name) +
                                                   "\": " + std::generic_category().message(code));
  }
  return fail(ErrorCode::kResourceExhausted, "the entry of the " + std::string(kind) + " \"" +
                                                 std::string(name) + "\" is too long");
}

}  // namespace

Result<std::uint32_t> user_id(std::string_view text) {
  if (is_number(text)) return number_of(text);
  passwd entry{};
  return look_up("user", text, [&](std::vector<char>& buffer, const std::uint32_t*& id) {
    passwd* found = nullptr;
    const int code =
        getpwnam_r(std::string(text).c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr) id = &found->pw_uid;
    return code;
  });
}

Result<std::uint32_t> group_id(std::string_view text) {
  if (is_number(text)) return number_of(text);
  group entry{};
  return look_up("group", text, [&](std::vector<char>& buffer, const std::uint32_t*& id) {
    group* found = nullptr;
    const int code =
        getgrnam_r(std::string(text).c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr) id = &found->gr_gid;
    return code;
  });
}

}  // namespace deepinfer::config
