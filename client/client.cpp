#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include <deepinfer/client.h>
#include <unistd.h>

#include "client/connection.h"
#include "client/errors.h"
#include "client/session.h"
#include "ipc/socket.h"

namespace deepinfer {

using client::Session;

class Client::Parts {
 public:
  Parts(const ClientOptions& options, client::Address address, client::Connection connection)
      : session(options, std::move(address), std::move(connection)) {}

  [[nodiscard]] bool is_foreign() const { return ::getpid() != process_; }

  Session session;

 private:
  const pid_t process_ = ::getpid();
};

namespace {

constexpr std::size_t kMostJobs = 1U << 20U;  // more is a daemon that repeats itself

// The reply of the kind that was asked for.
template <typename Wanted>
std::variant<Wanted, ClientError> expect(std::variant<ipc::Reply, ClientError> asked,
                                         const Session& session, const std::string& where) {
  if (auto* error = std::get_if<ClientError>(&asked)) return std::move(*error);
  auto& reply = std::get<ipc::Reply>(asked);
  if (auto* wanted = std::get_if<Wanted>(&reply)) return std::move(*wanted);
  if (const auto* refusal = std::get_if<ipc::Refusal>(&reply)) {
    return client::from_refusal(*refusal, where);
  }
  return client::mismatch(session.socket_path(), "the daemon answered another question");
}

std::optional<ClientError> expect_nothing(std::variant<ipc::Reply, ClientError> asked,
                                          const Session& session, const std::string& where) {
  auto done = expect<ipc::Nothing>(std::move(asked), session, where);
  if (auto* error = std::get_if<ClientError>(&done)) return std::move(*error);
  return std::nullopt;
}

// Times within which no sum with the clock overflows; a year is for ever here.
ClientOptions bounded(ClientOptions options) {
  using std::chrono::milliseconds;
  constexpr milliseconds kNone{0};
  constexpr milliseconds kForEver{std::chrono::hours{24 * 365}};
  options.connect_timeout = std::clamp(options.connect_timeout, kNone, kForEver);
  options.reconnect_timeout = std::clamp(options.reconnect_timeout, kNone, kForEver);
  return options;
}

// Where generate()'s one answer goes.
class AnswerSink final : public ClientSink {
 public:
  explicit AnswerSink(const std::filesystem::path& socket) : socket_(socket) {}

  void on_token(const TokenEvent& /*event*/) override {}
  void on_finished(RequestResult result) override { set(std::move(result)); }
  void on_refused(RequestHandle /*request*/, const RequestError& error) override { set(error); }
  void on_lost(RequestHandle /*request*/) override { set(client::went_away(socket_)); }

  // Acquired by Session::deliver_until().
  [[nodiscard]] const std::atomic<bool>& is_done() const { return is_done_; }
  [[nodiscard]] Client::Answer take() { return std::move(answer_); }

 private:
  void set(Client::Answer answer) {
    answer_ = std::move(answer);
    is_done_.store(true, std::memory_order_release);
  }

  const std::filesystem::path& socket_;
  Client::Answer answer_;
  std::atomic<bool> is_done_{false};
};

}  // namespace

std::filesystem::path default_socket() { return ipc::client_socket_path(); }

std::unique_ptr<Client> Client::connect(const ClientOptions& options, ClientError& error) {
  const ClientOptions bounds = bounded(options);
  client::Address address = client::address_of(bounds);
  auto opened = client::open_connection(address, bounds.connect_timeout);
  if (auto* failure = std::get_if<client::ConnectFailure>(&opened)) {
    error = std::move(failure->error);
    return nullptr;
  }
  auto parts = std::make_unique<Parts>(bounds, std::move(address),
                                       std::get<client::Connection>(std::move(opened)));
  return std::unique_ptr<Client>(new Client(std::move(parts)));
}

Client::Client(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Client::~Client() {
  if (!parts_->is_foreign()) return;
  // A child after fork(): the mappings are not there, and a lock may be held by a thread that is not.
  // The socket is, and would keep the session alive.
  parts_->session.close_socket_only();
  static_cast<void>(parts_.release());
}

std::variant<JobId, ClientError> Client::open_job(const JobOptions& options) {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  return expect<JobId>(session.ask(ipc::OpenJob{options}), session, "job");
}

std::optional<ClientError> Client::close_job(JobId job) {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  auto error = expect_nothing(session.ask(ipc::CloseJob{job}), session, to_text(job));
  if (!error) session.note_ended(job);
  return error;
}

Client::Submitted Client::submit(const Request& request, ClientSink& sink,
                                 const SubmitOptions& options) {
  if (parts_->is_foreign()) return {.error = client::not_of_this_process()};
  return parts_->session.submit(request, sink, options);
}

Client::Submitted Client::submit(const Request& request, ClientSink& sink) {
  return submit(request, sink, SubmitOptions{});
}

bool Client::cancel(RequestHandle request) {
  return !parts_->is_foreign() && parts_->session.cancel(request);
}

Client::Delivered Client::deliver(std::chrono::milliseconds timeout) {
  return parts_->is_foreign() ? Delivered::kNothing : parts_->session.deliver(timeout);
}

Client::Answer Client::generate(const Request& request) {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  if (session.is_telling()) {
    return client::usage("wrong_thread", "a sink may submit and cancel, but not wait", "generate()",
                         "submit() with a sink instead");
  }
  AnswerSink sink(session.socket_path());
  auto submitted = session.submit(request, sink, {});
  if (submitted.error) return *std::move(submitted.error);
  session.deliver_until(sink.is_done());
  return sink.take();
}

std::int64_t Client::unfinished() const {
  return parts_->is_foreign() ? 0 : parts_->session.unfinished();
}

std::vector<JobId> Client::lost_jobs() {
  return parts_->is_foreign() ? std::vector<JobId>{} : parts_->session.take_lost_jobs();
}

ModelFacts Client::model() const {
  return parts_->is_foreign() ? ModelFacts{} : parts_->session.model();
}

std::variant<DaemonStatus, ClientError> Client::status() {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  return expect<DaemonStatus>(session.ask(ipc::StatusQuery{}), session, "status");
}

std::variant<std::vector<JobInfo>, ClientError> Client::jobs() {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  std::vector<JobInfo> all;
  std::optional<JobId> before;
  while (all.size() < kMostJobs) {
    auto asked = expect<ipc::JobsPage>(session.ask(ipc::JobsQuery{before}), session, "jobs");
    if (auto* error = std::get_if<ClientError>(&asked)) return std::move(*error);
    auto& page = std::get<ipc::JobsPage>(asked);
    all.insert(all.end(), std::make_move_iterator(page.jobs.begin()),
               std::make_move_iterator(page.jobs.end()));
    if (!page.has_more || page.jobs.empty()) break;
    before = all.back().id;
  }
  return all;
}

std::variant<JobInfo, ClientError> Client::job(JobId job) {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  return expect<JobInfo>(session.ask(ipc::JobQuery{job}), session, to_text(job));
}

std::optional<ClientError> Client::cancel_job(JobId job) {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  auto error = expect_nothing(session.ask(ipc::CancelJob{job}), session, to_text(job));
  if (!error) session.note_ended(job);
  return error;
}

std::optional<ClientError> Client::drain() {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  return expect_nothing(session.ask(ipc::Drain{}), session, "drain");
}

std::optional<ClientError> Client::undrain() {
  if (parts_->is_foreign()) return client::not_of_this_process();
  Session& session = parts_->session;
  return expect_nothing(session.ask(ipc::Undrain{}), session, "undrain");
}

}  // namespace deepinfer
