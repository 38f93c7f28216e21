#include "daemon/listening.h"

#include <utility>

#include <unistd.h>

#include "daemon/notify.h"

namespace deepinfer::daemon {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitRefused = 5;

StartFailure failure(const Error& error, std::string where) {
  // Somebody else serves there: the one failure that is not a matter of configuration.
  if (error.code == ErrorCode::kFailedPrecondition) {
    return {{error.message, std::move(where), "stop the other daemon, or name another --socket"},
            kExitRefused};
  }
  return {{error.message, std::move(where), "choose a path that can be used, in --socket"},
          kExitUsage};
}

std::variant<Listening, StartFailure> adopt(std::vector<ActivationSocket> sockets) {
  if (sockets.size() > 1) {
    return StartFailure{{std::to_string(sockets.size()) + " sockets are passed, one is served",
                         "LISTEN_FDS", "leave one ListenSequentialPacket= in the socket unit"},
                        kExitUsage};
  }
  auto adopted = ipc::Listener::adopt(std::move(sockets.front().socket));
  if (!adopted) {
    return StartFailure{{adopted.error().message, "LISTEN_FDS",
                         "use ListenSequentialPacket= with a path in the socket unit"},
                        kExitUsage};
  }
  return Listening{*std::move(adopted), "socket unit " + sockets.front().name};
}

}  // namespace

std::filesystem::path socket_path(const config::IpcSection& ipc) {
  if (!ipc.socket.empty()) return ipc.socket;
  const std::filesystem::path system = ipc::system_socket_path();
  const bool is_ours = ::geteuid() == 0 || ::access(system.parent_path().c_str(), W_OK) == 0;
  return is_ours ? system : ipc::user_socket_path();
}

std::variant<Listening, StartFailure> start_listening(const config::IpcSection& ipc,
                                                      const config::Variables& environment) {
  auto sockets = take_activation_sockets(environment);
  if (!sockets) {
    return StartFailure{
        {sockets.error().message, "LISTEN_FDS", "start by the socket unit, or unset it"},
        kExitUsage};
  }
  if (!sockets->empty()) return adopt(*std::move(sockets));
  const std::filesystem::path path = socket_path(ipc);
  auto opened = ipc::Listener::open(path, ipc.socket_mode);
  if (!opened) return failure(opened.error(), path.string());
  return Listening{*std::move(opened), path.string()};
}

}  // namespace deepinfer::daemon
