// Parts that several messages of the control plane have: refusals, the model, jobs, the daemon's status.
//
// Only for the codec_*.cpp beside it. For each part: the room it takes, writing it, reading it.
// Threads:  pure functions
// Cost:     linear
// Errors:   Reader::refuse() what is longer than ipc/messages.h and deepinfer/jobs.h allow, and unknown
//           enumerators
#pragma once

#include <deepinfer/jobs.h>
#include <deepinfer/types.h>

#include "ipc/capnp_reader.h"
#include "ipc/capnp_writer.h"
#include "ipc/messages.h"
#include "ipc/protocol.capnp.h"

namespace deepinfer::ipc {

void add_room(Room& room, const Refusal& refusal);
void write_refusal(const Refusal& refusal, protocol::Refusal::Builder out);
[[nodiscard]] Refusal read_refusal(protocol::Refusal::Reader in, Reader& reader);

void add_room(Room& room, const ModelFacts& model);
void write_model(const ModelFacts& model, protocol::ModelFacts::Builder out);
[[nodiscard]] ModelFacts read_model(protocol::ModelFacts::Reader in, Reader& reader);

void write_job_id(JobId job, protocol::JobId::Builder out);
[[nodiscard]] JobId read_job_id(protocol::JobId::Reader in);

void add_room(Room& room, const JobOptions& options);
void write_job_options(const JobOptions& options, protocol::JobOptions::Builder out);
[[nodiscard]] JobOptions read_job_options(protocol::JobOptions::Reader in, Reader& reader);

// What one takes beside the struct itself, which may be an element of a list.
void add_contents_room(Room& room, const JobInfo& job);
void write_job(const JobInfo& job, protocol::JobInfo::Builder out);
[[nodiscard]] JobInfo read_job(protocol::JobInfo::Reader in, Reader& reader);

void add_room(Room& room, const DaemonStatus& status);
void write_status(const DaemonStatus& status, protocol::DaemonStatus::Builder out);
[[nodiscard]] DaemonStatus read_status(protocol::DaemonStatus::Reader in, Reader& reader);

}  // namespace deepinfer::ipc
