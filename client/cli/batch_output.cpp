#include "client/cli/batch_output.h"

#include <array>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

using std::filesystem::path;

path with_suffix(path base, const char* suffix) {
  base += suffix;
  return base;
}

bool is_there(const path& file) {
  std::error_code ignored;  // what cannot be looked at cannot be created either, which is reported
  return std::filesystem::exists(std::filesystem::symlink_status(file, ignored));
}

// A crash while publishing may leave the final name beside the state: it becomes partial again.
Status unpublish(const path& final_path, const path& partial) {
  if (!is_there(final_path) || is_there(partial)) return Done{};
  std::error_code failed;
  std::filesystem::rename(final_path, partial, failed);
  if (!failed) return Done{};
  return usage_error("the file cannot be moved: " + failed.message(), final_path.string(),
                     "make its folder writable");
}

}  // namespace

path OutputPaths::partial_output() const { return with_suffix(output, ".partial"); }
path OutputPaths::partial_errors() const { return with_suffix(errors, ".partial"); }
path OutputPaths::state() const { return with_suffix(output, ".resume.json"); }

path default_errors_path(const path& output) {
  path base = output;
  if (base.extension() == ".jsonl") base.replace_extension();
  return with_suffix(base, ".errors.jsonl");
}

Status check_paths(const OutputPaths& paths, const path& input) {
  std::set<path> used;
  for (const path& file : {input, paths.output, paths.errors, paths.partial_output(),
                           paths.partial_errors(), paths.state()}) {
    std::error_code failed;
    path resolved = std::filesystem::weakly_canonical(file, failed);
    if (failed) resolved = std::filesystem::absolute(file, failed).lexically_normal();
    if (!used.insert(resolved).second) {
      return usage_error("the file is named for two purposes", file.string(),
                         "give input, output and errors names of their own");
    }
  }
  return Done{};
}

Status check_nothing_there(const OutputPaths& paths) {
  for (const path& file : {paths.output, paths.errors}) {
    if (!is_there(file)) continue;
    return usage_error("the file exists", file.string(),
                       "remove it, choose another name, or add --resume to continue");
  }
  for (const path& file : {paths.state(), paths.partial_output(), paths.partial_errors()}) {
    if (!is_there(file)) continue;
    return usage_error("an interrupted run left this file", file.string(),
                       "add --resume to continue that run, or remove the file");
  }
  return Done{};
}

BatchOutput::BatchOutput(OutputPaths paths, RunState state)
    : paths_(std::move(paths)), state_(std::move(state)) {}

Result<BatchOutput> BatchOutput::begin(const OutputPaths& paths, const RunIdentity& identity) {
  DEEPINFER_TRY(RunState state, RunState::create(paths.state(), identity));
  BatchOutput output(paths, std::move(state));
  auto file = RecordFile::create(paths.partial_output());
  if (!file) {
    output.state_.remove();
    return std::move(file).error();
  }
  output.output_ = *std::move(file);
  return output;
}

Result<BatchOutput> BatchOutput::resume(const OutputPaths& paths, const RunIdentity& identity) {
  if (!is_there(paths.state())) {
    DEEPINFER_TRY([[maybe_unused]] const Done clear, check_nothing_there(paths));
    return begin(paths, identity);
  }
  DEEPINFER_TRY(RunState state, RunState::reopen(paths.state(), identity));
  BatchOutput output(paths, std::move(state));
  DEEPINFER_TRY([[maybe_unused]] const Done first, unpublish(paths.output, paths.partial_output()));
  DEEPINFER_TRY([[maybe_unused]] const Done second,
                unpublish(paths.errors, paths.partial_errors()));
  DEEPINFER_TRY(const RecordsRead good, read_finished(paths.partial_output(), output.finished_));
  DEEPINFER_TRY(const RecordsRead bad, read_finished(paths.partial_errors(), output.finished_));
  output.finished_successes_ = good.count;
  output.finished_failures_ = bad.count;
  DEEPINFER_TRY(output.output_, RecordFile::reopen(paths.partial_output(), good.whole_bytes));
  if (is_there(paths.partial_errors())) {
    DEEPINFER_TRY(output.errors_, RecordFile::reopen(paths.partial_errors(), bad.whole_bytes));
  }
  return output;
}

Status BatchOutput::write(const Record& record) {
  if (record.is_success) return output_.write(record.text);
  if (!errors_.is_open()) {
    DEEPINFER_TRY(errors_, RecordFile::create(paths_.partial_errors()));
  }
  return errors_.write(record.text);
}

Status BatchOutput::sync() {
  if (errors_.is_open()) {
    DEEPINFER_TRY([[maybe_unused]] const Done synced, errors_.sync());
  }
  return output_.sync();
}

Status BatchOutput::publish() {
  if (errors_.is_open() && !errors_.is_empty()) {
    DEEPINFER_TRY([[maybe_unused]] const Done moved, errors_.publish(paths_.errors));
  } else if (errors_.is_open()) {
    // Its only record was cut off by an interruption, and succeeded the second time.
    std::error_code ignored;
    std::filesystem::remove(paths_.partial_errors(), ignored);
  }
  DEEPINFER_TRY([[maybe_unused]] const Done moved, output_.publish(paths_.output));
  state_.remove();
  return Done{};
}

}  // namespace deepinfer::cli
