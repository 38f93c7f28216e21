#include "client/cli/batch_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "client/cli/daemon_error.h"
#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

// With Durability::kPower: a power cut costs at most this much work.
constexpr std::chrono::seconds kSyncInterval{1};
// The longest wait for the daemon, so that a signal is noticed and progress is shown.
constexpr std::chrono::milliseconds kLongestWait{100};

std::uint64_t key_of(RequestHandle handle) { return static_cast<std::uint64_t>(handle); }
std::uint64_t key_of(const RequestResult& result) { return key_of(result.request); }

template <typename Ending>
std::uint64_t key_of(const Ending& ending) {
  return key_of(ending.handle);
}

}  // namespace

BatchRun::BatchRun(const Parts& parts, std::int64_t total, Durability durability)
    : parts_(parts),
      durability_(durability),
      pacer_(parts.runner.facts().max_in_flight, parts.clock),
      next_sync_(parts.clock.now() + kSyncInterval) {
  counts_.total = total;
  counts_.resumed = static_cast<std::int64_t>(parts.output.finished().size());
  counts_.resumed_failed = parts.output.finished_failures();
}

Result<BatchOutcome> BatchRun::run() {
  while (true) {
    if (const int number = parts_.stop_signal(); number != 0) {
      outcome_ = {BatchEnd::kSignal, number, ""};
      break;
    }
    DEEPINFER_TRY([[maybe_unused]] const Done filled, fill_window());
    if (is_over()) break;
    DEEPINFER_TRY([[maybe_unused]] const Done advanced, advance());
    DEEPINFER_TRY([[maybe_unused]] const Done synced, sync_now_and_then());
    if (parts_.progress.is_due()) parts_.progress.update(facts());
  }
  if (parts_.progress.is_shown()) parts_.progress.finish(facts());
  const bool is_whole = outcome_.end == BatchEnd::kComplete || outcome_.end == BatchEnd::kDraining;
  if (is_whole) parts_.runner.finish();
  return outcome_;
}

void BatchRun::on_token(const TokenEvent& /*event*/) {}

void BatchRun::on_finished(RequestResult result) { endings_.emplace_back(std::move(result)); }

void BatchRun::on_refused(RequestHandle request, const RequestError& error) {
  endings_.emplace_back(Refused{request, error});
}

void BatchRun::on_lost(RequestHandle request) { endings_.emplace_back(Lost{request}); }

bool BatchRun::is_over() const {
  if (!in_flight_.empty()) return false;
  return outcome_.end != BatchEnd::kComplete || (again_.empty() && !has_more_);
}

Status BatchRun::fill_window() {
  while (outcome_.end == BatchEnd::kComplete && pacer_.may_submit(in_flight_.size())) {
    if (!again_.empty()) {
      Pending pending = std::move(again_.front());
      again_.pop_front();
      DEEPINFER_TRY([[maybe_unused]] const Done submitted, submit(std::move(pending)));
      continue;
    }
    if (!has_more_) break;
    BatchLine line;
    const auto has_line = parts_.reader.next(line);
    if (!has_line) return usage_error(has_line.error().message, "input", "check the disk");
    has_more_ = *has_line;
    if (!has_more_ || parts_.output.finished().contains(line.number)) continue;
    DEEPINFER_TRY([[maybe_unused]] const Done started, start(std::move(line)));
  }
  return Done{};
}

Status BatchRun::start(BatchLine line) {
  if (!line.problems.empty()) return write(record_of_problems(line));
  RecordContext context = context_of(line);
  return submit({std::move(context), std::move(line.request)});
}

Status BatchRun::submit(Pending pending) {
  Runner::Submitted submitted = parts_.runner.submit(pending.request, *this);
  if (auto* error = std::get_if<RequestError>(&submitted)) {
    return take(pending, Refused{{}, std::move(*error)});
  }
  if (auto* lost = std::get_if<Runner::Lost>(&submitted)) {
    return take(pending, Lost{{}, std::move(*lost)});
  }
  if (!parts_.runner.facts().refuses_later) pending.request = Request{};
  in_flight_.emplace(key_of(std::get<RequestHandle>(submitted)), std::move(pending));
  return Done{};
}

Status BatchRun::advance() {
  const auto pause = std::chrono::ceil<std::chrono::milliseconds>(pacer_.pause_left());
  const auto wait = pause.count() > 0 ? std::min(pause, kLongestWait) : kLongestWait;
  const std::size_t before = in_flight_.size();
  if (before == 0) {
    if (!std::exchange(has_warned_, true)) {
      parts_.progress.warn({"the daemon has no room for more requests", parts_.runner.facts().where,
                            "they are submitted again until it has"});
    }
    parts_.pause(wait);
    return Done{};
  }
  const StepOutcome outcome = parts_.runner.step(wait);
  DEEPINFER_TRY([[maybe_unused]] const Done taken, take_endings());
  if (outcome != StepOutcome::kIdle || in_flight_.size() != before) return Done{};
  return fail(
      ErrorCode::kInternal,
      config::to_line({"the engine is idle with " + std::to_string(before) + " requests in flight",
                       parts_.runner.facts().where, "report this, then run again with --resume"}));
}

Status BatchRun::take_endings() {
  for (const Ending& ending : std::exchange(endings_, {})) {
    const std::uint64_t key = std::visit([](const auto& one) { return key_of(one); }, ending);
    const auto found = in_flight_.find(key);
    if (found == in_flight_.end()) continue;
    Pending pending = std::move(found->second);
    in_flight_.erase(found);
    const auto take_one = [this, &pending](const auto& one) { return take(pending, one); };
    DEEPINFER_TRY([[maybe_unused]] const Done taken, std::visit(take_one, ending));
  }
  return Done{};
}

Status BatchRun::take(Pending& pending, const RequestResult& result) {
  pacer_.ended();
  const ResponseFacts facts{parts_.runner.facts().model, parts_.calendar()};
  return write(record_of_result(pending.context, result, facts));
}

Status BatchRun::take(Pending& pending, const Refused& refused) {
  switch (kind_of_refusal(refused.error.code)) {
    case RefusalKind::kForNow:
      pacer_.refused(in_flight_.size());
      again_.push_back(std::move(pending));
      return Done{};
    case RefusalKind::kDraining:
      // A daemon that is gone is the stronger reason of the two.
      if (outcome_.end != BatchEnd::kLost) outcome_.end = BatchEnd::kDraining;
      return Done{};
    case RefusalKind::kLost:
      return take(pending, Lost{});
    case RefusalKind::kCancelled:
      return write(record_of_refusal(
          pending.context,
          {"cancelled", "the job was cancelled before the request was accepted", ""}));
    case RefusalKind::kRequest:
      break;
  }
  return write(record_of_refusal(pending.context, refused.error));
}

Status BatchRun::take(Pending& /*pending*/, const Lost& lost) {
  if (outcome_.end != BatchEnd::kLost) outcome_ = {BatchEnd::kLost, 0, lost.why.what};
  return Done{};
}

Status BatchRun::write(const Record& record) {
  DEEPINFER_TRY([[maybe_unused]] const Done written, parts_.output.write(record));
  is_dirty_ = true;
  counts_.prompt_tokens += record.prompt_tokens;
  counts_.completion_tokens += record.completion_tokens;
  ++(record.is_success ? counts_.completed : counts_.failed);
  return Done{};
}

Status BatchRun::sync_now_and_then() {
  if (durability_ != Durability::kPower || !is_dirty_ || parts_.clock.now() < next_sync_) {
    return Done{};
  }
  next_sync_ = parts_.clock.now() + kSyncInterval;
  is_dirty_ = false;
  return parts_.output.sync();
}

ProgressFacts BatchRun::facts() const {
  ProgressFacts facts;
  facts.total = counts_.total;
  facts.done = counts_.done();
  facts.failed = counts_.all_failed();
  facts.resumed = counts_.resumed;
  facts.engine = parts_.runner.stats();
  return facts;
}

}  // namespace deepinfer::cli
