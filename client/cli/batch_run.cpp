#include "client/cli/batch_run.h"

#include <string>
#include <utility>

#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

// With Durability::kPower: a power cut costs at most this much work.
constexpr std::chrono::seconds kSyncInterval{1};

std::uint64_t key_of(RequestHandle handle) { return static_cast<std::uint64_t>(handle); }

}  // namespace

BatchRun::BatchRun(const Parts& parts, std::int64_t total, std::int64_t window,
                   Durability durability)
    : parts_(parts),
      window_(static_cast<std::size_t>(window)),
      durability_(durability),
      next_sync_(parts.clock.now() + kSyncInterval) {
  counts_.total = total;
  counts_.resumed = static_cast<std::int64_t>(parts.output.finished().size());
  counts_.resumed_failed = parts.output.finished_failures();
}

Result<int> BatchRun::run() {
  while (true) {
    if (const int number = parts_.stop_signal(); number != 0) {
      parts_.progress.finish(facts());
      return number;
    }
    DEEPINFER_TRY([[maybe_unused]] const Done filled, fill_window());
    if (in_flight_.empty() && !has_more_) break;
    const std::size_t before = in_flight_.size();
    const StepOutcome outcome = parts_.runner.step();
    DEEPINFER_TRY([[maybe_unused]] const Done written, write_finished());
    if (outcome == StepOutcome::kIdle && before > 0 && in_flight_.size() == before) {
      return fail(ErrorCode::kInternal,
                  config::to_line(
                      {"the engine is idle with " + std::to_string(before) + " requests in flight",
                       "engine", "report this, then run again with --resume"}));
    }
    DEEPINFER_TRY([[maybe_unused]] const Done synced, sync_now_and_then());
    parts_.progress.update(facts());
  }
  parts_.progress.finish(facts());
  return 0;
}

void BatchRun::on_token(const TokenEvent& /*event*/) {}

void BatchRun::on_finished(RequestResult result) { results_.push_back(std::move(result)); }

Status BatchRun::fill_window() {
  BatchLine line;
  while (has_more_ && in_flight_.size() < window_) {
    const auto has_line = parts_.reader.next(line);
    if (!has_line) return usage_error(has_line.error().message, "input", "check the disk");
    has_more_ = *has_line;
    if (!has_more_ || parts_.output.finished().contains(line.number)) continue;
    DEEPINFER_TRY([[maybe_unused]] const Done started, start(line));
    line = BatchLine{};
  }
  return Done{};
}

Status BatchRun::start(const BatchLine& line) {
  if (!line.problems.empty()) return write(record_of_problems(line));
  RecordContext context = context_of(line);
  const Engine::Submitted submitted = parts_.runner.submit(line.request, *this);
  if (submitted.error) return write(record_of_refusal(context, *submitted.error));
  in_flight_.emplace(key_of(submitted.request), std::move(context));
  return Done{};
}

Status BatchRun::write_finished() {
  for (const RequestResult& result : std::exchange(results_, {})) {
    const auto found = in_flight_.find(key_of(result.request));
    if (found == in_flight_.end()) continue;
    const ResponseFacts facts{parts_.runner.model().name, parts_.calendar()};
    const Record record = record_of_result(found->second, result, facts);
    in_flight_.erase(found);
    DEEPINFER_TRY([[maybe_unused]] const Done written, write(record));
  }
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
