#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "ipc/codec_facts.h"

namespace deepinfer::ipc {
namespace {

using Metadata = std::map<std::string, std::string>;
using Entries = capnp::List<protocol::Entry>;
using SystemTime = std::chrono::system_clock::time_point;

// As deepinfer/jobs.h says.
constexpr std::size_t kMostNameBytes = 256;
constexpr std::size_t kMostEntries = 16;
constexpr std::size_t kMostKeyBytes = 64;
constexpr std::size_t kMostValueBytes = 512;

void add_room(Room& room, const Metadata& metadata) {
  room.add_structs<protocol::Entry>(metadata.size());
  for (const auto& [key, value] : metadata) room.add_bytes(key.size()).add_bytes(value.size());
}

void write_metadata(const Metadata& metadata, Entries::Builder out) {
  unsigned i = 0;
  for (const auto& [key, value] : metadata) {
    out[i].setKey(data_of(key));
    out[i].setValue(data_of(value));
    ++i;
  }
}

Metadata read_metadata(Entries::Reader in, Reader& reader) {
  Metadata metadata;
  const unsigned count = reader.elements("the metadata", in, kMostEntries);
  for (unsigned i = 0; i < count; ++i) {
    std::string key = reader.text("a key of the metadata", in[i].getKey(), kMostKeyBytes);
    if (!metadata.empty() && key <= metadata.rbegin()->first) {
      reader.refuse("the keys of the metadata do not rise");
      return {};
    }
    metadata.emplace_hint(
        metadata.end(), std::move(key),
        reader.text("a value of the metadata", in[i].getValue(), kMostValueBytes));
  }
  return metadata;
}

void write_counts(const JobCounts& counts, protocol::JobCounts::Builder out) {
  out.setTotal(counts.total);
  out.setCompleted(counts.completed);
  out.setFailed(counts.failed);
  out.setCancelled(counts.cancelled);
  out.setQueued(counts.queued);
  out.setRunning(counts.running);
}

JobCounts read_counts(protocol::JobCounts::Reader in) {
  return {.total = in.getTotal(),
          .completed = in.getCompleted(),
          .failed = in.getFailed(),
          .cancelled = in.getCancelled(),
          .queued = in.getQueued(),
          .running = in.getRunning()};
}

std::int64_t nanoseconds_of(SystemTime time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

SystemTime time_of(std::int64_t nanoseconds) {
  return SystemTime(std::chrono::nanoseconds(nanoseconds));
}

}  // namespace

void write_job_id(JobId job, protocol::JobId::Builder out) {
  out.setHigh(job.high);
  out.setLow(job.low);
}

JobId read_job_id(protocol::JobId::Reader in) { return {.high = in.getHigh(), .low = in.getLow()}; }

void add_room(Room& room, const JobOptions& options) {
  room.add_struct<protocol::JobOptions>().add_bytes(options.name.size());
  add_room(room, options.metadata);
}

void write_job_options(const JobOptions& options, protocol::JobOptions::Builder out) {
  out.setName(data_of(options.name));
  const auto entries = static_cast<unsigned>(options.metadata.size());
  write_metadata(options.metadata, out.initMetadata(entries));
  out.setHasSeed(options.seed.has_value());
  out.setSeed(options.seed.value_or(0));
  out.setOnDisconnect(static_cast<protocol::OnDisconnect>(options.on_disconnect));
}

JobOptions read_job_options(protocol::JobOptions::Reader in, Reader& reader) {
  JobOptions options;
  options.name = reader.text("the job's name", in.getName(), kMostNameBytes);
  options.metadata = read_metadata(in.getMetadata(), reader);
  if (in.getHasSeed()) options.seed = in.getSeed();
  options.on_disconnect =
      reader.known("on_disconnect", in.getOnDisconnect(), OnDisconnect::kContinue);
  return options;
}

void add_contents_room(Room& room, const JobInfo& job) {
  room.add_struct<protocol::JobId>().add_struct<protocol::JobCounts>();
  room.add_bytes(job.name.size());
  add_room(room, job.metadata);
}

void write_job(const JobInfo& job, protocol::JobInfo::Builder out) {
  write_job_id(job.id, out.initId());
  out.setName(data_of(job.name));
  out.setUid(job.uid);
  out.setState(static_cast<protocol::JobState>(job.state));
  write_counts(job.counts, out.initCounts());
  const auto entries = static_cast<unsigned>(job.metadata.size());
  write_metadata(job.metadata, out.initMetadata(entries));
  out.setCreated(nanoseconds_of(job.created));
  out.setHasEnded(job.ended.has_value());
  out.setEnded(nanoseconds_of(job.ended.value_or(SystemTime{})));
}

JobInfo read_job(protocol::JobInfo::Reader in, Reader& reader) {
  JobInfo job;
  job.id = read_job_id(in.getId());
  job.name = reader.text("the job's name", in.getName(), kMostNameBytes);
  job.uid = in.getUid();
  job.state = reader.known("the job's state", in.getState(), JobState::kLost);
  job.counts = read_counts(in.getCounts());
  job.metadata = read_metadata(in.getMetadata(), reader);
  job.created = time_of(in.getCreated());
  if (in.getHasEnded()) job.ended = time_of(in.getEnded());
  return job;
}

}  // namespace deepinfer::ipc
