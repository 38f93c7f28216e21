#include "daemon/engine_thread.h"

#include <utility>

namespace deepinfer::daemon {
namespace {

std::uint64_t key_of(RequestHandle handle) { return static_cast<std::uint64_t>(handle); }
std::uint64_t key_of(Ticket ticket) { return static_cast<std::uint64_t>(ticket); }

}  // namespace

EngineThread::EngineThread(OpenModel open, std::function<void()> notify)
    : open_(std::move(open)), notify_(std::move(notify)), thread_([this] { run(); }) {}

EngineThread::~EngineThread() {
  is_stopping_.store(true, std::memory_order_relaxed);  // ordered by posted_
  posted_.fetch_add(1, std::memory_order_release);
  posted_.notify_one();
  thread_.join();
}

void EngineThread::post(std::vector<EngineCommand> commands) {
  commands_.push(std::move(commands));
  posted_.fetch_add(1, std::memory_order_release);
  posted_.notify_one();
}

void EngineThread::run() {
  EngineError error;
  engine_ = open_(error);
  if (engine_ == nullptr) {
    events_.emplace_back(ModelFailed{std::move(error)});
  } else {
    events_.emplace_back(ModelOpened{engine_->model()});
  }
  report();
  serve();
}

void EngineThread::serve() {
  while (true) {
    const std::uint32_t seen = posted_.load(std::memory_order_acquire);
    if (is_stopping_.load(std::memory_order_relaxed)) return;
    progress_.fetch_add(1, std::memory_order_relaxed);
    take_commands();
    const bool is_idle = engine_ == nullptr || engine_->step() == StepOutcome::kIdle;
    report();
    if (is_idle) posted_.wait(seen, std::memory_order_acquire);
  }
}

void EngineThread::take_commands() {
  for (const std::vector<EngineCommand>& commands : commands_.take_all()) {
    if (engine_ == nullptr) continue;  // nothing is admitted without a model
    for (const EngineCommand& command : commands) {
      std::visit([this](const auto& one) { apply(one); }, command);
    }
  }
}

void EngineThread::apply(const AdmitCommand& command) {
  const RequestHandle handle = engine_->submit(command.request, *this);
  by_handle_.emplace(key_of(handle), Running{command.ticket, command.stream});
  by_ticket_.emplace(key_of(command.ticket), handle);
}

void EngineThread::apply(const CancelCommand& command) {
  const auto found = by_ticket_.find(key_of(command.ticket));
  if (found != by_ticket_.end()) engine_->cancel(found->second);
}

void EngineThread::report() {
  if (events_.empty()) return;
  EngineReport report;
  report.events = std::exchange(events_, {});
  if (engine_ != nullptr) report.stats = engine_->stats();
  reports_.push(std::move(report));
  notify_();
}

void EngineThread::on_token(const TokenEvent& event) {
  const auto found = by_handle_.find(key_of(event.request));
  if (found == by_handle_.end() || !found->second.stream) return;
  events_.emplace_back(TokenProduced{found->second.ticket, event});
}

void EngineThread::on_finished(RequestResult result) {
  const auto found = by_handle_.find(key_of(result.request));
  if (found == by_handle_.end()) return;
  const Ticket ticket = found->second.ticket;
  by_handle_.erase(found);
  by_ticket_.erase(key_of(ticket));
  events_.emplace_back(RequestFinished{ticket, std::move(result)});
}

}  // namespace deepinfer::daemon
