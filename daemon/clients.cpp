#include "daemon/clients.h"

#include <algorithm>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/log.h"
#include "ipc/codec.h"
#include "ipc/doorbell.h"

namespace deepinfer::daemon {
namespace {

// A hello is one datagram, sent at once: who takes longer is stopped, or means no good.
constexpr std::chrono::milliseconds kHelloTime{2000};
// While descriptors have run out, nobody can be accepted: look again when some may have been closed.
constexpr std::chrono::milliseconds kAcceptPause{100};
// Of one connection or of new ones, before the loop turns to others.
constexpr int kDatagramsInVisit = 8;
constexpr int kAcceptsInVisit = 64;
// Connections without shared memory, beside the sessions: status, jobs, and hellos that are due.
constexpr std::size_t kMoreConnections = 64;

// How sessions usually end.
constexpr const char* kClosedByClient = "closed by the client";
constexpr const char* kProcessEnded = "the client's process has ended";
constexpr const char* kDaemonStops = "the daemon is stopping";

std::uint64_t key_of(SessionId id) { return static_cast<std::uint64_t>(id); }

}  // namespace

Clients::Clients(Parts parts, ipc::Listener listener)
    : parts_(std::move(parts)),
      listener_(std::move(listener)),
      next_round_(parts_.loop,
                  [this] {
                    graveyard_.clear();
                    visit_again();
                  }),
      hello_timer_(parts_.loop, [this] { close_late_hellos(); }),
      accept_timer_(parts_.loop, [this] {
        if (listener_poll_) listener_poll_->resume();
      }) {
  auto poll = Poll::create(parts_.loop, listener_->number(), [this] { accept_some(); });
  if (!poll) {
    parts_.log.error("cannot watch the socket", {{"reason", poll.error().message}});
    return;
  }
  listener_poll_ = *std::move(poll);
}

Clients::~Clients() {
  close_all();
  graveyard_.clear();
}

void Clients::stop_accepting() {
  accept_timer_.stop();
  listener_poll_.reset();
  listener_.reset();
}

void Clients::accept_some() {
  for (int i = 0; i < kAcceptsInVisit; ++i) {
    auto accepted = listener_->accept();
    if (!accepted) {
      parts_.log.limited("accept", LogLevel::kWarning, "cannot accept a client",
                         {{"reason", accepted.error().message}});
      listener_poll_->pause();
      accept_timer_.start_once(kAcceptPause);
      return;
    }
    if (!*accepted) return;
    add(**std::move(accepted));
  }
}

void Clients::add(FileDescriptor socket) {
  if (connections_.size() >= static_cast<std::size_t>(parts_.max_clients) + kMoreConnections) {
    parts_.log.limited("connections", LogLevel::kWarning, "connection refused",
                       {{"reason", "too many connections"}});
    return;
  }
  auto connection = std::make_unique<Connection>();
  Connection& added = *connection;
  added.id = SessionId{next_id_++};
  added.socket = std::move(socket);
  added.hello_deadline = parts_.clock.now() + kHelloTime;
  const auto peer = ipc::peer_credentials(added.socket.number());
  if (!peer) return;  // gone already
  added.peer = *peer;
  added.is_operator = is_operator(parts_.policy, added.peer);
  auto poll =
      Poll::create(parts_.loop, added.socket.number(), [this, &added] { read_socket(added); });
  if (!poll) {
    parts_.log.limited("poll", LogLevel::kWarning, "connection refused",
                       {{"reason", poll.error().message}});
    return;
  }
  added.socket_poll = *std::move(poll);
  connections_.emplace(key_of(added.id), std::move(connection));
  if (!hello_timer_.is_running()) hello_timer_.start_once(kHelloTime);
}

void Clients::close_late_hellos() {
  const Clock::TimePoint now = parts_.clock.now();
  std::vector<Connection*> late;
  bool has_more = false;
  for (const auto& item : connections_) {
    Connection& connection = *item.second;
    if (connection.has_said_hello) continue;
    if (connection.hello_deadline <= now) {
      late.push_back(&connection);
    } else {
      has_more = true;
    }
  }
  for (Connection* connection : late) close(*connection, "no hello within 2 s");
  if (has_more) hello_timer_.start_once(kHelloTime);
}

void Clients::read_socket(Connection& connection) {
  for (int i = 0; i < kDatagramsInVisit && connection.socket.is_open(); ++i) {
    const std::size_t most =
        connection.has_said_hello ? ipc::kMaxControlBytes : ipc::kMaxHelloBytes;
    auto datagram = ipc::receive_datagram(connection.socket.number(), most, 0);
    if (!datagram) {
      const bool is_gone = datagram.error().code == ErrorCode::kCancelled;
      return close(connection, is_gone ? kClosedByClient : datagram.error().message);
    }
    if (!*datagram) return;
    if (connection.has_said_hello) {
      answer(connection, **datagram);
    } else {
      greet(connection, **datagram);
    }
  }
}

void Clients::greet(Connection& connection, const ipc::Datagram& datagram) {
  const auto words = ipc::to_words(datagram.bytes);
  auto hello = words ? ipc::decode_hello(*words) : Result<ipc::Hello>(words.error());
  if (!hello) return close(connection, "no hello that can be read: " + hello.error().message);
  connection.name = hello->client_name;
  ipc::HelloReply reply;
  std::vector<int> descriptors;
  if (auto refusal = refusal_of(connection, *hello)) {
    reply = *std::move(refusal);
  } else if (auto made = welcome(connection, *hello); made) {
    reply = *std::move(made);
  } else {
    reply = ipc::Refusal{"over_capacity", made.error().message, "try again later", 1000};
  }
  if (connection.session != nullptr) {
    for (const int one : connection.session->end->client_descriptors()) descriptors.push_back(one);
  }
  connection.has_said_hello = true;
  ipc::Words out;
  ipc::encode(reply, out);
  send(connection, out, descriptors);
  if (connection.session != nullptr) connection.session->end->forget_client_descriptors();
  if (const auto* refusal = std::get_if<ipc::Refusal>(&reply)) {
    close(connection, "refused: " + refusal->what);
  }
}

std::optional<ipc::Refusal> Clients::refusal_of(const Connection& connection,
                                                const ipc::Hello& hello) const {
  if (hello.magic != ipc::kMagic || hello.abi_major != ipc::kAbiMajor ||
      (hello.kind == ipc::ConnectionKind::kSession && hello.layout != ipc::layout_hash())) {
    return ipc::Refusal{"protocol_mismatch",
                        "the client speaks protocol " + std::to_string(hello.abi_major) + "." +
                            std::to_string(hello.abi_minor) + ", the daemon " +
                            std::to_string(ipc::kAbiMajor) + "." + std::to_string(ipc::kAbiMinor),
                        "use a client of the daemon's version, " + parts_.version, 0};
  }
  if (!is_admitted(parts_.policy, connection.peer)) {
    return ipc::Refusal{"not_permitted",
                        "user " + std::to_string(connection.peer.uid) + " may not use this daemon",
                        "ask its operator to add it to ipc.allowed_uids or ipc.allowed_gids", 0};
  }
  if (hello.kind == ipc::ConnectionKind::kControl) return std::nullopt;
  if (parts_.state() == DaemonState::kLoading) {
    return ipc::Refusal{"loading", "the daemon is loading its model", "try again in a moment", 500};
  }
  if (sessions_ >= parts_.max_clients) {
    return ipc::Refusal{"over_capacity",
                        std::to_string(sessions_) + " clients are connected, and " +
                            std::to_string(parts_.max_clients) + " is the most",
                        "try again later, or raise ipc.max_clients", 1000};
  }
  return std::nullopt;
}

ipc::Geometry Clients::granted(const ipc::Geometry& wanted) const {
  ipc::Geometry granted = parts_.geometry;
  if (!ipc::is_valid(wanted)) return granted;
  granted.submission_entries = std::min(granted.submission_entries, wanted.submission_entries);
  granted.completion_entries = std::min(granted.completion_entries, wanted.completion_entries);
  granted.arena_bytes = std::min(granted.arena_bytes, wanted.arena_bytes);
  granted.result_bytes = std::min(granted.result_bytes, wanted.result_bytes);
  return granted;
}

Result<ipc::Welcome> Clients::welcome(Connection& connection, const ipc::Hello& hello) {
  ipc::Welcome welcome;
  welcome.features = hello.features & ipc::kAllFeatures;
  welcome.session = parts_.random();
  welcome.epoch = parts_.epoch;
  welcome.granted = granted(hello.wanted);
  welcome.max_unfinished = static_cast<std::uint64_t>(parts_.max_unfinished);
  welcome.version = parts_.version;
  welcome.model = parts_.model();
  if (hello.kind == ipc::ConnectionKind::kControl) return welcome;

  DEEPINFER_TRY(auto end, ipc::DaemonEnd::create(welcome.granted, welcome.session, welcome.epoch));
  const int doorbell = end->doorbell();
  DEEPINFER_TRY(auto poll, Poll::create(parts_.loop, doorbell, [this, &connection] {
                  static_cast<void>(ipc::drain_doorbell(connection.session->end->doorbell()));
                  visit(connection);
                }));
  Session& session =
      parts_.gateway.open_session(connection.id, connection.peer.uid, std::move(end));
  connection.session = &session;
  connection.doorbell_poll = std::move(poll);
  watch_process(connection);
  ++sessions_;
  if (is_draining_) session.end->set_flags(ipc::kFlagDraining);
  static_cast<void>(session.end->prepare_sleep());  // the ring is empty: nobody knows it yet
  parts_.log.debug("session opened", {{"session", key_of(connection.id)},
                                      {"client", connection.name},
                                      {"pid", connection.peer.pid},
                                      {"uid", connection.peer.uid}});
  return welcome;
}

// The socket alone does not tell of a client whose child has inherited it.
void Clients::watch_process(Connection& connection) {
  if (connection.peer.pid <= 0) return;  // not visible from here: another namespace
  connection.process =
      FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, connection.peer.pid, 0)));
  if (!connection.process.is_open()) return;  // gone: the socket says so; or an old kernel
  auto poll = Poll::create(parts_.loop, connection.process.number(),
                           [this, &connection] { close(connection, kProcessEnded); });
  if (poll) connection.process_poll = *std::move(poll);
}

void Clients::answer(Connection& connection, const ipc::Datagram& datagram) {
  const auto words = ipc::to_words(datagram.bytes);
  auto request =
      words ? ipc::decode_control_request(*words) : Result<ipc::ControlRequest>(words.error());
  if (!request) {
    return close(connection, "a question that cannot be read: " + request.error().message);
  }
  if (std::holds_alternative<ipc::CloseJob>(request->question)) serve_all(connection);
  const Asker asker{connection.id, connection.peer.uid, connection.is_operator,
                    connection.session != nullptr};
  ipc::Words out;
  ipc::encode(ipc::ControlReply{request->number, parts_.control.answer(request->question, asker)},
              out);
  send(connection, out, {});
}

// What was submitted before a question must not be overtaken by it: the ring holds at most its entries.
void Clients::serve_all(Connection& connection) {
  if (connection.session == nullptr) return;
  const auto most = connection.session->end->geometry().submission_entries;
  bool has_more = true;
  for (std::uint32_t taken = 0; has_more && taken <= most; taken += Gateway::kVisit) {
    has_more = parts_.gateway.serve(*connection.session);
  }
  parts_.gateway.flush();
  close_broken();
}

void Clients::send(Connection& connection, ipc::WordView words, std::span<const int> descriptors) {
  const auto sent =
      ipc::send_datagram(connection.socket.number(), ipc::bytes_of(words), descriptors);
  if (!sent) return close(connection, sent.error().message);
  if (!*sent) close(connection, "it does not read its replies");
}

// Serves a ring until it is empty or others are due. The doorbell is armed only when it is empty.
void Clients::visit(Connection& connection) {
  Session& session = *connection.session;
  session.end->end_sleep();
  bool has_more = parts_.gateway.serve(session);
  if (!has_more) has_more = !session.end->prepare_sleep();
  if (has_more && !std::exchange(connection.is_in_visits, true)) {
    visits_.push_back(connection.id);
    next_round_.send();
  }
  parts_.gateway.flush();
  close_broken();
}

void Clients::visit_again() {
  for (const SessionId id : std::exchange(visits_, {})) {
    const auto found = connections_.find(key_of(id));
    if (found == connections_.end()) continue;
    found->second->is_in_visits = false;
    visit(*found->second);
  }
}

void Clients::close_broken() {
  for (const Gateway::Broken& broken : parts_.gateway.take_broken()) {
    const auto found = connections_.find(key_of(broken.session));
    if (found != connections_.end()) close(*found->second, broken.reason);
  }
}

void Clients::set_draining(bool is_draining) {
  is_draining_ = is_draining;
  for (const auto& item : connections_) {
    if (item.second->session == nullptr) continue;
    item.second->session->end->set_flags(is_draining ? ipc::kFlagDraining : 0);
  }
}

// One line for each session, but no more of those that end as they should than anybody wants to read.
void Clients::log_end(const Connection& connection, const std::string& reason) {
  const bool is_usual =
      reason == kClosedByClient || reason == kProcessEnded || reason == kDaemonStops;
  const Fields fields{{"session", key_of(connection.id)},
                      {"client", connection.name},
                      {"pid", connection.peer.pid},
                      {"uid", connection.peer.uid},
                      {"reason", reason}};
  if (is_usual) {
    parts_.log.debug("session closed", fields);
  } else {
    parts_.log.limited("session closed", LogLevel::kWarning, "session closed", fields);
  }
}

void Clients::close(Connection& connection, const std::string& reason) {
  const auto found = connections_.find(key_of(connection.id));
  if (found == connections_.end()) return;  // closed already
  graveyard_.push_back(std::move(found->second));
  connections_.erase(found);
  connection.socket_poll.reset();
  connection.process_poll.reset();
  connection.doorbell_poll.reset();
  connection.socket = FileDescriptor();
  connection.process = FileDescriptor();
  if (connection.session != nullptr) {
    log_end(connection, reason);
    connection.session->end->set_flags(ipc::kFlagDead);
    connection.session = nullptr;
    parts_.gateway.close_session(connection.id);
    --sessions_;
    parts_.on_closed();
  } else if (!connection.has_said_hello || reason.starts_with("refused")) {
    parts_.log.limited("connection", LogLevel::kInfo, "connection closed",
                       {{"pid", connection.peer.pid},
                        {"uid", connection.peer.uid},
                        {"client", connection.name},
                        {"reason", reason}});
  }
  next_round_.send();
}

void Clients::close_all() {
  while (!connections_.empty()) close(*connections_.begin()->second, kDaemonStops);
}

}  // namespace deepinfer::daemon
