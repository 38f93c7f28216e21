#include "daemon/app.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/clock.h"
#include "daemon/clients.h"
#include "daemon/command_line.h"
#include "daemon/control.h"
#include "daemon/engine_options.h"
#include "daemon/engine_thread.h"
#include "daemon/gateway.h"
#include "daemon/job_table.h"
#include "daemon/lifecycle.h"
#include "daemon/listening.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/notify.h"
#include "daemon/random.h"
#include "ipc/doorbell.h"

namespace deepinfer::daemon {
namespace {

constexpr const char* kVersion = DEEPINFER_VERSION;
// Of one session: enough to keep any engine busy, few enough that their answers fit into memory when the
// client does not read them.
constexpr std::int64_t kMaxUnfinished = 8192;
// Beside drain.grace, for the step at hand and for taking everything down.
constexpr std::chrono::seconds kStopMargin{30};
// How soon a ring that was full is looked at again: at once while its client reads, rarely while it
// does not.
constexpr std::chrono::milliseconds kFirstRoomCheck{1};
constexpr std::chrono::milliseconds kSlowestRoomCheck{100};

ipc::Geometry geometry_of(const config::IpcSection& ipc) {
  ipc::Geometry geometry;
  geometry.submission_entries = static_cast<std::uint32_t>(ipc.ring_entries);
  geometry.completion_entries = static_cast<std::uint32_t>(4 * ipc.ring_entries);
  geometry.arena_bytes = static_cast<std::uint64_t>(ipc.arena_bytes);
  geometry.result_bytes = static_cast<std::uint64_t>(ipc.arena_bytes);
  return geometry;
}

// Before there is anybody to serve: for whoever started us, and for the log where that is elsewhere.
int report(const StartFailure& failure, const config::Loaded& loaded, Log& log) {
  print_problem(std::cerr, failure.problem);
  if (!loaded.options.log.file.empty()) {
    log.error("cannot serve", {{"reason", config::to_line(failure.problem)}});
  }
  return failure.exit_code;
}

JobTable::Time calendar() { return std::chrono::system_clock::now(); }
JobId new_job_id() { return {random_number(), random_number()}; }

// Half of what the service manager bears.
std::chrono::milliseconds watchdog_pause(const Notifier& notifier) {
  const auto interval = notifier.watchdog_interval().value_or(std::chrono::seconds{10});
  return std::chrono::duration_cast<std::chrono::milliseconds>(interval) / 2;
}

class App {
 public:
  App(const config::Options& options, Log& log, Notifier& notifier, ipc::Listener listener);
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App() = default;

  [[nodiscard]] int run();

 private:
  void take(Event event);
  void act(Action action);
  void on_reports();
  void apply(ModelOpened event);
  void apply(const ModelFailed& event);
  void apply(const TokenProduced& event) { gateway_.apply(event); }
  void apply(const RequestFinished& event) { gateway_.apply(event); }
  void after_work();
  void on_room_time();
  void on_stop_signal();
  void stop_when_quiet();
  void dump_state();
  void watch();
  [[nodiscard]] DaemonStatus status() const;
  [[nodiscard]] std::optional<ipc::Refusal> try_event(Event event);

  const config::Options& options_;
  Log& log_;
  Notifier& notifier_;
  SteadyClock clock_;
  const Clock::TimePoint start_ = clock_.now();

  State state_ = State::kLoading;
  ModelFacts model_;
  EngineStats engine_stats_;
  int exit_code_ = 0;
  bool is_exiting_ = false;
  std::chrono::milliseconds room_pause_ = kFirstRoomCheck;
  std::uint64_t seen_progress_ = 0;

  Loop loop_;
  Wakeup reports_;
  Timer room_timer_;
  Timer grace_timer_;
  Timer watchdog_timer_;
  EngineThread engine_;
  JobTable jobs_;
  Gateway gateway_;
  Control control_;
  Clients clients_;
  SignalWatch terminate_;
  SignalWatch interrupt_;
  SignalWatch hang_up_;
  SignalWatch user_;
};

App::App(const config::Options& options, Log& log, Notifier& notifier, ipc::Listener listener)
    : options_(options),
      log_(log),
      notifier_(notifier),
      reports_(loop_, [this] { on_reports(); }),
      room_timer_(loop_, [this] { on_room_time(); }),
      grace_timer_(loop_, [this] { take(Event::kGraceOver); }),
      watchdog_timer_(loop_, [this] { watch(); }),
      engine_([&options](
                  EngineError& error) { return open_model_engine(engine_options(options), error); },
              [this] { reports_.send(); }),
      gateway_({loop_,
                engine_,
                jobs_,
                log_,
                {options.jobs.max_queued, kMaxUnfinished},
                [this] { return to_daemon_state(state_); },
                calendar,
                new_job_id,
                [this] {
                  if (!room_timer_.is_running()) room_timer_.start_once(room_pause_);
                },
                [this] { after_work(); }}),
      control_({jobs_, gateway_, [this] { return status(); },
                [this] { return try_event(Event::kDrain); },
                [this] { return try_event(Event::kUndrain); }, calendar, new_job_id}),
      clients_({loop_,
                gateway_,
                control_,
                log_,
                clock_,
                {options.ipc.allowed_uids, options.ipc.allowed_gids, ::geteuid()},
                geometry_of(options.ipc),
                options.ipc.max_clients,
                kMaxUnfinished,
                random_number(),
                kVersion,
                [this] { return to_daemon_state(state_); },
                [this] { return model_; },
                random_number,
                [this] { after_work(); }},
               std::move(listener)),
      terminate_(loop_, SIGTERM, [this] { on_stop_signal(); }),
      interrupt_(loop_, SIGINT, [this] { on_stop_signal(); }),
      hang_up_(loop_, SIGHUP,
               [this] {
                 log_.warning("reload is not built into this version",
                              {{"signal", "SIGHUP"}, {"mend", "restart the daemon"}});
               }),
      user_(loop_, SIGUSR1, [this] { dump_state(); }) {
  if (const auto interval = notifier_.watchdog_interval()) {
    watchdog_timer_.start_once(std::chrono::duration_cast<std::chrono::milliseconds>(*interval) /
                               2);
  }
}

int App::run() {
  if (!clients_.is_listening()) return kExitUsage;
  if (!notifier_.trouble().empty()) {
    log_.warning("the service manager cannot be told", {{"reason", notifier_.trouble()}});
  }
  loop_.run();
  clients_.close_all();
  log_.info("stopped", {{"exit_code", exit_code_}});
  // A model that is still being opened cannot be interrupted, and there is nothing left to take down.
  if (model_.name.empty() && exit_code_ == 0) std::_Exit(0);
  return exit_code_;
}

void App::take(Event event) {
  const Transition transition = step(state_, event);
  if (!transition.refusal.empty()) return;
  log_.info(
      "state",
      {{"from", name_of(state_)}, {"event", name_of(event)}, {"to", name_of(transition.next)}});
  state_ = transition.next;
  for (const Action action : transition.actions) act(action);
  after_work();
}

std::optional<ipc::Refusal> App::try_event(Event event) {
  const Transition transition = step(state_, event);
  if (!transition.refusal.empty()) {
    return ipc::Refusal{"wrong_state", transition.refusal, "see deepinfer status", 0};
  }
  take(event);
  return std::nullopt;
}

// The engine's word, and everything that follows from it.
void App::on_reports() {
  for (EngineReport& report : engine_.take_reports()) {
    engine_stats_ = report.stats;
    for (EngineEvent& event : report.events) {
      std::visit([this](auto& one) { apply(std::move(one)); }, event);
    }
  }
  gateway_.flush();
  clients_.close_broken();
  after_work();
}

void App::apply(ModelOpened event) {
  model_ = std::move(event.model);
  log_.info("model opened", {{"model", model_.name}, {"max_context", model_.max_context}});
  take(Event::kLoaded);
}

void App::apply(const ModelFailed& event) {
  exit_code_ = static_cast<int>(event.error.fault);
  std::vector<std::string> lines = event.error.all;
  if (lines.empty()) {
    lines.push_back(config::to_line({event.error.what, event.error.where, event.error.mend}));
  }
  for (const std::string& line : lines) {
    std::cerr << "deepinferd: error: " << line << std::endl;  // as before there was a log
    if (!options_.log.file.empty()) log_.error("the model cannot be used", {{"reason", line}});
  }
  take(Event::kLoadFailed);
}

void App::act(Action action) {
  switch (action) {
    case Action::kAcceptWork:
      clients_.set_draining(false);
      break;
    case Action::kRefuseWork:
      clients_.set_draining(true);
      break;
    case Action::kNotifyReady:
      log_.info("ready", {{"model", model_.name}});
      notifier_.ready();
      break;
    case Action::kNotifyStopping:
      notifier_.stopping();
      break;
    case Action::kNotifyStatus:
      notifier_.status(std::string(name_of(state_)) + ", model " + model_.name);
      break;
    case Action::kStartGrace:
      grace_timer_.start_once(options_.drain.grace);
      notifier_.extend_timeout(options_.drain.grace + kStopMargin);
      break;
    case Action::kCancelAll:
      gateway_.lose_all();
      break;
    case Action::kExit:
      is_exiting_ = true;
      clients_.stop_accepting();
      break;
  }
}

// What may have become true by anything that happened.
void App::after_work() {
  if (is_exiting_) return stop_when_quiet();
  const bool waits_for_idle = state_ == State::kDraining || state_ == State::kStopping;
  if (waits_for_idle && gateway_.is_idle()) take(Event::kIdle);
}

void App::stop_when_quiet() {
  if (gateway_.is_quiet()) loop_.stop();
}

void App::on_room_time() {
  const Gateway::Room room = gateway_.flush_waiting();
  clients_.close_broken();
  room_pause_ = room.is_waiting && !room.has_progressed
                    ? std::min(2 * room_pause_, kSlowestRoomCheck)
                    : kFirstRoomCheck;
  if (room.is_waiting) room_timer_.start_once(room_pause_);
  after_work();
}

void App::on_stop_signal() {
  const GatewayCounts counts = gateway_.counts();
  log_.info("told to stop", {{"unfinished", counts.queued + counts.running}});
  take(Event::kStop);  // a second one stops at once
}

// The service manager hears from us while the loop turns and the engine moves or has nothing to do.
void App::watch() {
  const std::uint64_t progress = engine_.progress();
  if (progress != seen_progress_ || gateway_.counts().running == 0) notifier_.watchdog();
  seen_progress_ = progress;
  watchdog_timer_.start_once(watchdog_pause(notifier_));
}

void App::dump_state() {
  const DaemonStatus now = status();
  log_.info("state", {{"state", name_of(now.state)},
                      {"sessions", now.sessions},
                      {"jobs_running", now.jobs_running},
                      {"requests_queued", now.requests_queued},
                      {"requests_running", now.requests_running},
                      {"requests_finished", now.requests_finished},
                      {"requests_refused", now.requests_refused},
                      {"engine_steps", now.engine.steps},
                      {"engine_running", now.engine.running},
                      {"engine_waiting", now.engine.waiting},
                      {"cache_blocks_free", now.engine.cache_blocks_free},
                      {"cache_blocks", now.engine.cache_blocks}});
}

DaemonStatus App::status() const {
  const GatewayCounts counts = gateway_.counts();
  DaemonStatus status;
  status.state = to_daemon_state(state_);
  status.version = kVersion;
  status.pid = ::getpid();
  status.uptime = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - start_);
  status.model = model_;
  status.backend = "cpu";
  status.sessions = clients_.sessions();
  status.jobs_running = jobs_.running();
  status.requests_queued = counts.queued;
  status.requests_running = counts.running;
  status.requests_finished = counts.finished;
  status.requests_refused = counts.refused;
  status.engine = engine_stats_;
  return status;
}

}  // namespace

int run_daemon(const config::Loaded& loaded, Log& log, const config::Variables& environment) {
  if (const Status probed = ipc::probe_doorbell(); !probed) {
    return report({{probed.error().message, "kernel", "use Linux 5.8 or newer"}, 2}, loaded, log);
  }
  auto listening = start_listening(loaded.options.ipc, environment);
  if (const auto* failed = std::get_if<StartFailure>(&listening)) {
    return report(*failed, loaded, log);
  }
  Notifier notifier(environment);
  auto& [listener, where] = std::get<Listening>(listening);
  log.info("starting", {{"version", kVersion},
                        {"pid", ::getpid()},
                        {"socket", where},
                        {"model", loaded.options.model.path}});
  App app(loaded.options, log, notifier, std::move(listener));
  return app.run();
}

}  // namespace deepinfer::daemon
