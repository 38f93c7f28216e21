#include "client/cli/operator_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>
#include <vector>

#include "client/cli/json_text.h"
#include "client/cli/progress.h"

namespace deepinfer::cli {
namespace {

using nlohmann::ordered_json;
using std::chrono::system_clock;

std::int64_t unix_seconds(system_clock::time_point time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Names on the left, values in one column.
std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::size_t width = 0;
  for (const auto& pair : pairs) width = std::max(width, pair.first.size());
  std::string text;
  for (const auto& [name, value] : pairs) {
    text.append(name).append(width + 2 - name.size(), ' ').append(value).append("\n");
  }
  return text;
}

std::string speed_text(double rate, std::int64_t tokens) {
  return std::to_string(std::llround(rate)) + " tokens/s (" + std::to_string(tokens) + " tokens)";
}

std::string uptime_text(const DaemonStatus& status) {
  return spoken_time(std::chrono::duration_cast<std::chrono::seconds>(status.uptime));
}

using Row = std::array<std::string, 8>;

Row row_of(const JobInfo& job) {
  const JobCounts& counts = job.counts;
  return {to_text(job.id),
          name_of(job.state),
          std::to_string(counts.completed),
          std::to_string(counts.failed),
          std::to_string(counts.total),
          std::to_string(job.uid),
          calendar_text(job.created),
          printable(job.name)};
}

// The counts stand to the right, as numbers do; the last column has no end.
std::string row_text(const Row& row, const std::array<std::size_t, 8>& widths) {
  std::string text;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    const std::string padding(widths[i] - row[i].size(), ' ');
    const bool is_number = i >= 2 && i <= 5;
    text += (is_number ? padding + row[i] : row[i] + padding) + "  ";
  }
  text += row.back();
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace

std::string status_text(const DaemonStatus& status, const std::string& socket) {
  const EngineStats& engine = status.engine;
  return pairs_text({{"daemon", "deepinferd " + printable(status.version) + " at " + socket},
                     {"state", name_of(status.state)},
                     {"process", std::to_string(status.pid) + ", up " + uptime_text(status)},
                     {"model", printable(status.model.name) + ", " +
                                   std::to_string(status.model.max_context) + " tokens of context"},
                     {"backend", printable(status.backend)},
                     {"clients", std::to_string(status.sessions)},
                     {"jobs", std::to_string(status.jobs_running) + " running"},
                     {"requests", std::to_string(status.requests_queued) + " queued, " +
                                      std::to_string(status.requests_running) + " running, " +
                                      std::to_string(status.requests_finished) + " finished, " +
                                      std::to_string(status.requests_refused) + " refused"},
                     {"prefill", speed_text(prefill_rate(engine), engine.prefill_tokens)},
                     {"decode", speed_text(decode_rate(engine), engine.decode_tokens)},
                     {"cache", std::to_string(engine.cache_blocks_free) + " of " +
                                   std::to_string(engine.cache_blocks) + " blocks free"}});
}

std::string jobs_text(std::span<const JobInfo> jobs) {
  std::vector<Row> rows{{"JOB", "STATE", "DONE", "FAILED", "TOTAL", "UID", "CREATED", "NAME"}};
  for (const JobInfo& job : jobs) rows.push_back(row_of(job));
  std::array<std::size_t, 8> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) text += row_text(row, widths);
  return text;
}

std::string job_text(const JobInfo& job) {
  const JobCounts& counts = job.counts;
  std::vector<std::pair<std::string, std::string>> pairs{
      {"job", to_text(job.id)},
      {"name", printable(job.name)},
      {"state", name_of(job.state)},
      {"requests", std::to_string(counts.total) + " in all, " + std::to_string(counts.completed) +
                       " completed, " + std::to_string(counts.failed) + " failed, " +
                       std::to_string(counts.cancelled) + " cancelled, " +
                       std::to_string(counts.queued) + " queued, " +
                       std::to_string(counts.running) + " running"},
      {"owner", "uid " + std::to_string(job.uid)},
      {"created", calendar_text(job.created)}};
  if (job.ended) pairs.emplace_back("ended", calendar_text(*job.ended));
  for (const auto& [key, value] : job.metadata) {
    pairs.emplace_back(printable(key), printable(value));
  }
  return pairs_text(pairs);
}

ordered_json status_json(const DaemonStatus& status, const std::string& socket) {
  const EngineStats& engine = status.engine;
  ordered_json object;
  object["state"] = name_of(status.state);
  object["version"] = status.version;
  object["socket"] = socket;
  object["pid"] = status.pid;
  object["uptime_seconds"] = std::chrono::duration<double>(status.uptime).count();
  object["model"] = {{"name", status.model.name},
                     {"max_context", status.model.max_context},
                     {"vocabulary", status.model.vocabulary}};
  object["backend"] = status.backend;
  object["clients"] = status.sessions;
  object["jobs_running"] = status.jobs_running;
  object["requests"] = {{"queued", status.requests_queued},
                        {"running", status.requests_running},
                        {"finished", status.requests_finished},
                        {"refused", status.requests_refused}};
  object["engine"] = {{"steps", engine.steps},
                      {"sequences_running", engine.running},
                      {"sequences_waiting", engine.waiting},
                      {"preemptions", engine.preemptions},
                      {"prefill_tokens", engine.prefill_tokens},
                      {"decode_tokens", engine.decode_tokens},
                      {"prefill_tokens_per_second", prefill_rate(engine)},
                      {"decode_tokens_per_second", decode_rate(engine)},
                      {"cache_blocks_free", engine.cache_blocks_free},
                      {"cache_blocks", engine.cache_blocks}};
  return object;
}

ordered_json job_json(const JobInfo& job) {
  const JobCounts& counts = job.counts;
  ordered_json object;
  object["id"] = to_text(job.id);
  object["name"] = job.name;
  object["state"] = name_of(job.state);
  object["request_counts"] = {
      {"total", counts.total}, {"completed", counts.completed}, {"failed", counts.failed}};
  object["queued"] = counts.queued;
  object["running"] = counts.running;
  object["cancelled"] = counts.cancelled;
  object["uid"] = job.uid;
  object["created_at"] = unix_seconds(job.created);
  object["ended_at"] = job.ended ? ordered_json(unix_seconds(*job.ended)) : ordered_json(nullptr);
  object["metadata"] = ordered_json::object();
  for (const auto& [key, value] : job.metadata) object["metadata"][key] = value;
  return object;
}

std::string load_text(const DaemonStatus& status) {
  return std::to_string(status.requests_queued) + " requests queued, " +
         std::to_string(status.requests_running) + " running";
}

std::string calendar_text(system_clock::time_point time) {
  const std::time_t seconds = unix_seconds(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

std::string printable(std::string_view text) {
  std::string shown = valid_utf8(text);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<unsigned char>(shown[i]);
    if (byte < 0x20 || byte == 0x7f) shown[i] = '?';
    // U+0080 .. U+009F, which terminals obey too.
    const bool has_next = i + 1 < shown.size();
    if (byte == 0xc2 && has_next && static_cast<unsigned char>(shown[i + 1]) < 0xa0) {
      shown.replace(i, 2, "?");
    }
  }
  return shown;
}

}  // namespace deepinfer::cli
