#include "client/cli/daemon_runner.h"

#include <algorithm>
#include <utility>

namespace deepinfer::cli {
namespace {

// Twice the sequences that the daemon runs at once by default. More would only make a drain longer:
// it waits for whatever was accepted.
constexpr std::size_t kMaxInFlight = 512;

std::unique_ptr<Client> connect(const std::filesystem::path& socket, const std::string& name,
                                ClientError& error) {
  ClientOptions options;
  options.socket = socket;
  options.name = name;
  options.reconnect_timeout = std::chrono::milliseconds(0);
  return Client::connect(options, error);
}

EngineStats difference(const EngineStats& now, const EngineStats& then) {
  EngineStats stats = now;
  stats.steps -= then.steps;
  stats.prefill_tokens -= then.prefill_tokens;
  stats.decode_tokens -= then.decode_tokens;
  stats.preemptions -= then.preemptions;
  stats.prefill_time -= then.prefill_time;
  stats.decode_time -= then.decode_time;
  return stats;
}

class DaemonRunner final : public Runner {
 public:
  DaemonRunner(std::unique_ptr<Client> client, const DaemonSession& session)
      : client_(std::move(client)) {
    options_.stream = session.stream;
    facts_.model = client_->model().name;
    facts_.where = (session.socket.empty() ? default_socket() : session.socket).string();
    facts_.max_in_flight = kMaxInFlight;
    facts_.refuses_later = true;
  }

  ~DaemonRunner() override {
    if (!options_.job || is_finished_ || is_lost()) return;
    // Best effort: the daemon ends the job of a client that is gone in any case.
    static_cast<void>(client_->cancel_job(*options_.job));
  }

  std::optional<ClientError> begin(const DaemonSession& session) {
    auto status = client_->status();
    if (auto* error = std::get_if<ClientError>(&status)) return std::move(*error);
    before_ = std::get<DaemonStatus>(std::move(status));
    if (auto refusal = refusal_of(before_.state)) return refusal;
    if (!session.job) return std::nullopt;
    auto job = client_->open_job(*session.job);
    if (auto* error = std::get_if<ClientError>(&job)) return std::move(*error);
    options_.job = facts_.job = std::get<JobId>(job);
    return std::nullopt;
  }

  Submitted submit(const Request& request, RunnerSink& sink) override {
    Client::Submitted submitted = client_->submit(request, sink, options_);
    if (!submitted.error) return submitted.request;
    ClientError& error = *submitted.error;
    if (error.code == "daemon_stalled") return Lost{std::move(error.what)};
    if (error.fault == ClientFault::kUnreachable) return Lost{};
    return RequestError{std::move(error.code), std::move(error.what), ""};
  }

  bool cancel(RequestHandle request) override { return client_->cancel(request); }

  StepOutcome step(std::chrono::milliseconds wait) override {
    const bool is_something = client_->deliver(wait) == Client::Delivered::kSomething;
    return is_something || client_->unfinished() > 0 ? StepOutcome::kWorked : StepOutcome::kIdle;
  }

  void finish() override {
    is_finished_ = true;
    // Every result is here: a daemon that is gone by now has nothing left to say.
    if (options_.job) static_cast<void>(client_->close_job(*options_.job));
  }

  [[nodiscard]] EngineStats stats() override {
    auto status = client_->status();
    const auto* now = std::get_if<DaemonStatus>(&status);
    // Not of a daemon that took the place of the one that was asked before.
    if (now != nullptr && now->pid == before_.pid) {
      stats_ = difference(now->engine, before_.engine);
    }
    return stats_;
  }

  [[nodiscard]] const RunnerFacts& facts() const override { return facts_; }

 private:
  // Found out before anything is begun, rather than from the first request.
  [[nodiscard]] std::optional<ClientError> refusal_of(DaemonState state) const {
    if (state == DaemonState::kReady || state == DaemonState::kLoading) return std::nullopt;
    const bool is_stopping = state == DaemonState::kStopping;
    const std::string word = is_stopping ? "stopping" : "draining";
    return ClientError{
        ClientFault::kRefused, word, "the daemon is " + word + ", it takes no requests",
        facts_.where,
        is_stopping ? "start it again" : "wait for deepinfer undrain, or start it again"};
  }

  [[nodiscard]] bool is_lost() const {
    const auto lost = client_->lost_jobs();
    return std::find(lost.begin(), lost.end(), *options_.job) != lost.end();
  }

  std::unique_ptr<Client> client_;
  Client::SubmitOptions options_;
  RunnerFacts facts_;
  DaemonStatus before_;  // when the session began
  EngineStats stats_;    // as they were known last
  bool is_finished_ = false;
};

class DaemonControl final : public Control {
 public:
  DaemonControl(std::unique_ptr<Client> client, std::filesystem::path socket)
      : client_(std::move(client)), socket_(std::move(socket)) {}

  std::variant<DaemonStatus, ClientError> status() override { return client_->status(); }
  std::variant<std::vector<JobInfo>, ClientError> jobs() override { return client_->jobs(); }
  std::variant<JobInfo, ClientError> job(JobId job) override { return client_->job(job); }
  std::optional<ClientError> cancel_job(JobId job) override { return client_->cancel_job(job); }
  std::optional<ClientError> drain() override { return client_->drain(); }
  std::optional<ClientError> undrain() override { return client_->undrain(); }
  [[nodiscard]] std::filesystem::path socket() const override { return socket_; }

 private:
  std::unique_ptr<Client> client_;
  std::filesystem::path socket_;
};

}  // namespace

std::unique_ptr<Runner> open_daemon(const DaemonSession& session, ClientError& error) {
  auto client = connect(session.socket, session.client, error);
  if (!client) return nullptr;
  auto runner = std::make_unique<DaemonRunner>(std::move(client), session);
  if (auto failed = runner->begin(session)) {
    error = *std::move(failed);
    return nullptr;
  }
  return runner;
}

std::unique_ptr<Control> open_control(const std::filesystem::path& socket, ClientError& error) {
  auto client = connect(socket, "deepinfer", error);
  if (!client) return nullptr;
  return std::make_unique<DaemonControl>(std::move(client),
                                         socket.empty() ? default_socket() : socket);
}

}  // namespace deepinfer::cli
