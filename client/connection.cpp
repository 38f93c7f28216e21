#include "client/connection.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "client/errors.h"
#include "ipc/codec.h"
#include "ipc/socket.h"

namespace deepinfer::client {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kDescriptors = 3;  // c2d, d2c, doorbell
constexpr std::size_t kMaxNameBytes = 64;
// A daemon that restarts is there within a few of these; many clients do not come in step.
constexpr milliseconds kFirstPause{10};
constexpr milliseconds kLongestPause{500};

ConnectFailure final_failure(ClientError error) { return {std::move(error), false}; }
ConnectFailure passing_failure(ClientError error) { return {std::move(error), true}; }

milliseconds time_left(SteadyClock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - SteadyClock::now());
  return std::max(left, milliseconds{0});
}

std::string shortened(std::string name) {
  if (name.size() <= kMaxNameBytes) return name;
  std::size_t end = kMaxNameBytes;
  // Not in the middle of a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  name.resize(end);
  return name;
}

// A user's own daemon lives in a folder that others could have made: prompts go to root or to oneself.
std::optional<ConnectFailure> check_owner(const Address& address, int socket) {
  if (address.socket != ipc::user_socket_path()) return std::nullopt;
  const auto peer = ipc::peer_credentials(socket);
  if (!peer) return passing_failure(unreachable(address.socket, peer.error().message));
  if (peer->uid == 0 || peer->uid == ::geteuid()) return std::nullopt;
  return final_failure({.fault = ClientFault::kRefused,
                        .code = "permission_denied",
                        .what = "the daemon there belongs to uid " + std::to_string(peer->uid),
                        .where = address.socket.string(),
                        .mend = "name the socket if that daemon is to be trusted"});
}

std::optional<ConnectFailure> send_hello(const Address& address, int socket) {
  ipc::Hello hello;
  hello.client_name = shortened(address.name);
  hello.client_version = DEEPINFER_VERSION;
  hello.wanted = {
      .submission_entries = 0, .completion_entries = 0, .arena_bytes = 0, .result_bytes = 0};
  ipc::Words words;
  ipc::encode(hello, words);
  const auto sent = ipc::send_datagram(socket, ipc::bytes_of(words), {});
  if (!sent) return passing_failure(unreachable(address.socket, sent.error().message));
  if (!*sent) return passing_failure(stalled(address.socket, "it does not read the hello"));
  return std::nullopt;
}

std::variant<ipc::Datagram, ConnectFailure> receive_reply(const Address& address, int socket,
                                                          SteadyClock::time_point deadline) {
  while (true) {
    auto datagram = ipc::receive_datagram(socket, ipc::kMaxControlBytes, kDescriptors);
    if (!datagram && datagram.error().code == ErrorCode::kDataLoss) {
      return final_failure(mismatch(address.socket, datagram.error().message));
    }
    if (!datagram) return passing_failure(unreachable(address.socket, datagram.error().message));
    if (datagram->has_value()) return std::move(**datagram);
    const milliseconds left = time_left(deadline);
    if (left == milliseconds{0} || !ipc::wait_readable(socket, left)) {
      return passing_failure(
          unreachable(address.socket, "something listens there, but does not answer the hello"));
    }
  }
}

std::variant<Connection, ConnectFailure> accept_welcome(const Address& address,
                                                        FileDescriptor socket,
                                                        ipc::Datagram datagram) {
  const auto words = ipc::to_words(datagram.bytes);
  if (!words) return final_failure(mismatch(address.socket, words.error().message));
  auto reply = ipc::decode_hello_reply(*words);
  if (!reply) return final_failure(mismatch(address.socket, reply.error().message));
  if (const auto* refusal = std::get_if<ipc::Refusal>(&*reply)) {
    return ConnectFailure{from_refusal(*refusal, address.socket.string()),
                          refusal->retry_after_ms > 0};
  }

  auto& welcome = std::get<ipc::Welcome>(*reply);
  if (welcome.abi_major != ipc::kAbiMajor) {
    return final_failure(
        mismatch(address.socket, "the daemon speaks protocol " + std::to_string(welcome.abi_major) +
                                     ", this client " + std::to_string(ipc::kAbiMajor)));
  }
  if (datagram.descriptors.size() != kDescriptors || !ipc::is_valid(welcome.granted)) {
    return final_failure(mismatch(address.socket, "the daemon's welcome is incomplete"));
  }
  auto end = ipc::ClientEnd::attach({.c2d = std::move(datagram.descriptors[0]),
                                     .d2c = std::move(datagram.descriptors[1]),
                                     .doorbell = std::move(datagram.descriptors[2])},
                                    welcome.granted, welcome.session);
  if (!end && end.error().code == ErrorCode::kResourceExhausted) {
    return passing_failure(from_socket(address.socket, end.error()));
  }
  if (!end) return final_failure(mismatch(address.socket, end.error().message));
  return Connection{
      .socket = std::move(socket), .end = *std::move(end), .welcome = std::move(welcome)};
}

ConnectFailure from_connect(const Address& address, const Error& error) {
  const bool can_retry = error.code != ErrorCode::kInvalidArgument;
  return {from_socket(address.socket, error), can_retry};
}

}  // namespace

Address address_of(const ClientOptions& options) {
  return {.socket = options.socket.empty() ? default_socket() : options.socket,
          .name = options.name.empty() ? program_invocation_short_name : options.name};
}

std::variant<Connection, ConnectFailure> open_connection(const Address& address,
                                                         milliseconds timeout) {
  const auto deadline = SteadyClock::now() + timeout;
  auto socket = ipc::connect_to(address.socket, timeout);
  if (!socket) return from_connect(address, socket.error());
  if (auto failure = check_owner(address, socket->number())) return *std::move(failure);
  if (auto failure = send_hello(address, socket->number())) return *std::move(failure);
  auto reply = receive_reply(address, socket->number(), deadline);
  if (auto* failure = std::get_if<ConnectFailure>(&reply)) return std::move(*failure);
  return accept_welcome(address, *std::move(socket), std::get<ipc::Datagram>(std::move(reply)));
}

std::variant<Connection, ClientError> open_patiently(const Address& address, milliseconds timeout,
                                                     milliseconds patience) {
  const auto deadline = SteadyClock::now() + patience;
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(
      SteadyClock::now().time_since_epoch().count() ^ ::getpid()));
  milliseconds pause = kFirstPause;
  milliseconds attempt = timeout;
  while (true) {
    auto opened = open_connection(address, attempt);
    if (auto* connection = std::get_if<Connection>(&opened)) return std::move(*connection);
    auto& failure = std::get<ConnectFailure>(opened);

    std::uniform_int_distribution<milliseconds::rep> jitter(pause.count() / 2, pause.count());
    const milliseconds nap{jitter(random)};
    if (!failure.can_retry || nap >= time_left(deadline)) return std::move(failure.error);
    std::this_thread::sleep_for(nap);
    pause = std::min(pause * 2, kLongestPause);
    attempt = std::min(timeout, time_left(deadline));
  }
}

bool has_hung_up(int socket) {
  pollfd entry{.fd = socket, .events = POLLRDHUP, .revents = 0};
  const int ready = ::poll(&entry, 1, 0);
  return ready > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace deepinfer::client
