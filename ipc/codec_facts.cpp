#include "ipc/codec_facts.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace deepinfer::ipc {

void add_room(Room& room, const Refusal& refusal) {
  room.add_struct<protocol::Refusal>().add_bytes(refusal.code.size());
  room.add_bytes(refusal.what.size()).add_bytes(refusal.mend.size());
}

void write_refusal(const Refusal& refusal, protocol::Refusal::Builder out) {
  out.setCode(data_of(refusal.code));
  out.setWhat(data_of(refusal.what));
  out.setMend(data_of(refusal.mend));
  out.setRetryAfterMs(refusal.retry_after_ms);
}

Refusal read_refusal(protocol::Refusal::Reader in, Reader& reader) {
  return {.code = reader.text("the code", in.getCode()),
          .what = reader.text("the reason", in.getWhat()),
          .mend = reader.text("the advice", in.getMend()),
          .retry_after_ms = in.getRetryAfterMs()};
}

void add_room(Room& room, const ModelFacts& model) {
  room.add_struct<protocol::ModelFacts>().add_bytes(model.name.size());
}

void write_model(const ModelFacts& model, protocol::ModelFacts::Builder out) {
  out.setName(data_of(model.name));
  out.setVocabulary(model.vocabulary);
  out.setMaxContext(model.max_context);
  out.setBosToken(model.bos_token);
  out.setEosToken(model.eos_token);
}

ModelFacts read_model(protocol::ModelFacts::Reader in, Reader& reader) {
  return {.name = reader.text("the model's name", in.getName()),
          .vocabulary = in.getVocabulary(),
          .max_context = in.getMaxContext(),
          .bos_token = in.getBosToken(),
          .eos_token = in.getEosToken()};
}

namespace {

void write_engine(const EngineStats& stats, protocol::EngineStats::Builder out) {
  out.setSteps(stats.steps);
  out.setPrefillTokens(stats.prefill_tokens);
  out.setDecodeTokens(stats.decode_tokens);
  out.setRunning(stats.running);
  out.setWaiting(stats.waiting);
  out.setPreemptions(stats.preemptions);
  out.setCacheBlocksFree(stats.cache_blocks_free);
  out.setCacheBlocks(stats.cache_blocks);
  out.setPrefillTime(stats.prefill_time.count());
  out.setDecodeTime(stats.decode_time.count());
}

EngineStats read_engine(protocol::EngineStats::Reader in) {
  return {.steps = in.getSteps(),
          .prefill_tokens = in.getPrefillTokens(),
          .decode_tokens = in.getDecodeTokens(),
          .running = in.getRunning(),
          .waiting = in.getWaiting(),
          .preemptions = in.getPreemptions(),
          .cache_blocks_free = in.getCacheBlocksFree(),
          .cache_blocks = in.getCacheBlocks(),
          .prefill_time = std::chrono::nanoseconds(in.getPrefillTime()),
          .decode_time = std::chrono::nanoseconds(in.getDecodeTime())};
}

}  // namespace

void add_room(Room& room, const DaemonStatus& status) {
  room.add_struct<protocol::DaemonStatus>().add_struct<protocol::EngineStats>();
  room.add_bytes(status.version.size()).add_bytes(status.backend.size());
  add_room(room, status.model);
}

void write_status(const DaemonStatus& status, protocol::DaemonStatus::Builder out) {
  out.setState(static_cast<protocol::DaemonState>(status.state));
  out.setVersion(data_of(status.version));
  out.setPid(status.pid);
  out.setUptimeMs(status.uptime.count());
  write_model(status.model, out.initModel());
  out.setBackend(data_of(status.backend));
  out.setSessions(status.sessions);
  out.setJobsRunning(status.jobs_running);
  out.setRequestsQueued(status.requests_queued);
  out.setRequestsRunning(status.requests_running);
  out.setRequestsFinished(status.requests_finished);
  out.setRequestsRefused(status.requests_refused);
  write_engine(status.engine, out.initEngine());
}

DaemonStatus read_status(protocol::DaemonStatus::Reader in, Reader& reader) {
  return {.state = reader.known("the daemon's state", in.getState(), DaemonState::kStopping),
          .version = reader.text("the version", in.getVersion()),
          .pid = in.getPid(),
          .uptime = std::chrono::milliseconds(in.getUptimeMs()),
          .model = read_model(in.getModel(), reader),
          .backend = reader.text("the backend", in.getBackend()),
          .sessions = in.getSessions(),
          .jobs_running = in.getJobsRunning(),
          .requests_queued = in.getRequestsQueued(),
          .requests_running = in.getRequestsRunning(),
          .requests_finished = in.getRequestsFinished(),
          .requests_refused = in.getRequestsRefused(),
          .engine = read_engine(in.getEngine())};
}

}  // namespace deepinfer::ipc
