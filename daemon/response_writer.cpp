#include "daemon/response_writer.h"

#include <algorithm>
#include <string>
#include <utility>

namespace deepinfer::daemon {

using ipc::CompletionKind;

ResponseWriter::ResponseWriter(ipc::DaemonEnd& end, std::size_t most_waiting)
    : end_(end),
      most_bytes_(std::min<std::size_t>(ipc::kMaxPayloadBytes, end.geometry().result_bytes / 2)),
      most_waiting_(most_waiting) {}

Status ResponseWriter::nothing_done(std::uint64_t user_data) {
  scratch_.clear();
  return put(CompletionKind::kNothingDone, user_data, scratch_);
}

Status ResponseWriter::accepted(std::uint64_t user_data) {
  scratch_.clear();
  return put(CompletionKind::kAccepted, user_data, scratch_);
}

Status ResponseWriter::refused(std::uint64_t user_data, const RequestError& error) {
  ipc::encode(error, scratch_);
  return put(CompletionKind::kRefused, user_data, scratch_);
}

Status ResponseWriter::token(std::uint64_t user_data, const TokenEvent& event) {
  if (!waiting_.empty()) return Done{};
  ipc::encode(event, scratch_);
  if (scratch_.size() * sizeof(std::uint64_t) > most_bytes_) return Done{};
  DEEPINFER_TRY(const bool is_out,
                end_.publish(CompletionKind::kTokens, user_data, ipc::bytes_of(scratch_)));
  has_news_ = has_news_ || is_out;
  return Done{};
}

Status ResponseWriter::finished(std::uint64_t user_data, const RequestResult& result) {
  ipc::encode(result, scratch_);
  return put(CompletionKind::kResult, user_data, scratch_);
}

Status ResponseWriter::lost(std::uint64_t user_data) {
  scratch_.clear();
  return put(CompletionKind::kLost, user_data, scratch_);
}

Status ResponseWriter::flush() {
  while (!waiting_.empty()) {
    Message& first = waiting_.front();
    DEEPINFER_TRY(const bool is_out,
                  write(first.kind, first.user_data, first.words, first.written_bytes));
    if (!is_out) break;
    waiting_.pop_front();
  }
  if (std::exchange(has_news_, false)) end_.wake();
  return Done{};
}

Status ResponseWriter::put(CompletionKind kind, std::uint64_t user_data, ipc::Words& words) {
  std::size_t written_bytes = 0;
  if (waiting_.empty()) {
    DEEPINFER_TRY(const bool is_out, write(kind, user_data, words, written_bytes));
    if (is_out) return Done{};
  }
  if (waiting_.size() >= most_waiting_) {
    return fail(ErrorCode::kDataLoss, "the client does not read its answers, " +
                                          std::to_string(waiting_.size()) + " wait for it");
  }
  waiting_.push_back({kind, user_data, std::exchange(words, {}), written_bytes});
  return Done{};
}

Result<bool> ResponseWriter::write(CompletionKind kind, std::uint64_t user_data,
                                   ipc::WordView words, std::size_t& written_bytes) {
  const std::span<const std::byte> bytes = ipc::bytes_of(words);
  while (true) {
    const std::size_t rest = bytes.size() - written_bytes;
    const std::size_t piece = std::min(rest, most_bytes_);
    const bool is_last = piece == rest;
    DEEPINFER_TRY(const bool is_out, end_.publish(is_last ? kind : CompletionKind::kResultPart,
                                                  user_data, bytes.subspan(written_bytes, piece)));
    if (!is_out) return false;
    has_news_ = true;
    written_bytes += piece;
    if (is_last) return true;
  }
}

}  // namespace deepinfer::daemon
