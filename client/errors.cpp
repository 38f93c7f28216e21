#include "client/errors.h"

#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace deepinfer::client {
namespace {

constexpr const char* kStart = "start deepinferd, or name its socket";

// connect_to() has one code for everything that is wrong with a path; what can be asked tells more.
bool is_forbidden(const std::filesystem::path& socket) {
  struct stat facts {};
  if (::stat(socket.c_str(), &facts) != 0) return errno == EACCES;
  return S_ISSOCK(facts.st_mode) && ::access(socket.c_str(), W_OK) != 0;
}

}  // namespace

ClientError unreachable(const std::filesystem::path& socket, std::string what) {
  return {.fault = ClientFault::kUnreachable,
          .code = "daemon_unreachable",
          .what = std::move(what),
          .where = socket.string(),
          .mend = kStart};
}

ClientError went_away(const std::filesystem::path& socket) {
  return {.fault = ClientFault::kUnreachable,
          .code = "daemon_lost",
          .what = "the daemon went away during the call",
          .where = socket.string(),
          .mend = "see the daemon's log; the next call connects again"};
}

ClientError stalled(const std::filesystem::path& socket, std::string what) {
  return {.fault = ClientFault::kUnreachable,
          .code = "daemon_stalled",
          .what = std::move(what),
          .where = socket.string(),
          .mend = "see whether the daemon is stopped or overloaded, then try again"};
}

ClientError mismatch(const std::filesystem::path& socket, std::string what) {
  return {.fault = ClientFault::kRefused,
          .code = "protocol_mismatch",
          .what = std::move(what),
          .where = socket.string(),
          .mend = "use a client and a deepinferd of the same version"};
}

ClientError from_socket(const std::filesystem::path& socket, const Error& error) {
  if (error.code == ErrorCode::kResourceExhausted) {
    return {.fault = ClientFault::kUnreachable,
            .code = "resource_exhausted",
            .what = error.message,
            .where = socket.string(),
            .mend = "raise this process' limits of descriptors or memory"};
  }
  if (error.code != ErrorCode::kInvalidArgument) return unreachable(socket, error.message);
  if (is_forbidden(socket)) {
    return {.fault = ClientFault::kRefused,
            .code = "permission_denied",
            .what = error.message,
            .where = socket.string(),
            .mend = "ask for membership in the daemon's group"};
  }
  return usage("invalid_value", error.message, socket.string(), "name the daemon's socket");
}

ClientError from_refusal(const ipc::Refusal& refusal, std::string where) {
  const bool is_argument = refusal.code == "invalid_value" || refusal.code == "invalid_type" ||
                           refusal.code == "missing_field" || refusal.code == "unknown_field" ||
                           refusal.code == "conflicting_fields";
  return {.fault = is_argument ? ClientFault::kUsage : ClientFault::kRefused,
          .code = refusal.code,
          .what = refusal.what,
          .where = std::move(where),
          .mend = refusal.mend};
}

ClientError usage(std::string code, std::string what, std::string where, std::string mend) {
  return {.fault = ClientFault::kUsage,
          .code = std::move(code),
          .what = std::move(what),
          .where = std::move(where),
          .mend = std::move(mend)};
}

ClientError not_of_this_process() {
  return usage("wrong_process", "this Client belongs to the process that forked this one", "Client",
               "connect again after fork()");
}

}  // namespace deepinfer::client
