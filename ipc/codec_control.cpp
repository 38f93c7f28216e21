#include <cstdint>
#include <utility>
#include <variant>

#include "ipc/capnp_reader.h"
#include "ipc/capnp_writer.h"
#include "ipc/codec.h"
#include "ipc/codec_facts.h"
#include "ipc/protocol.capnp.h"

namespace deepinfer::ipc {
namespace {

// One overload for each question and each reply; std::visit picks, so that a new one cannot be forgotten.

using Asked = protocol::ControlRequest::Question;
using Answered = protocol::ControlReply::Reply;

// ---- questions ----

struct QuestionRoom {
  Room& room;
  void operator()(const OpenJob& question) const { add_room(room, question.options); }
  template <typename Question>
  void operator()(const Question& /*question*/) const {
    room.add_struct<protocol::JobsQuery>().add_struct<protocol::JobId>();
  }
};

struct QuestionWriter {
  Asked::Builder out;
  void operator()(const StatusQuery& /*question*/) { out.setStatus(); }
  void operator()(const JobsQuery& question) {
    auto query = out.initJobs();
    if (question.before) write_job_id(*question.before, query.initBefore());
  }
  void operator()(const JobQuery& question) { write_job_id(question.job, out.initJob()); }
  void operator()(const OpenJob& question) {
    write_job_options(question.options, out.initOpenJob());
  }
  void operator()(const CloseJob& question) { write_job_id(question.job, out.initCloseJob()); }
  void operator()(const CancelJob& question) { write_job_id(question.job, out.initCancelJob()); }
  void operator()(const Drain& /*question*/) { out.setDrain(); }
  void operator()(const Undrain& /*question*/) { out.setUndrain(); }
};

JobsQuery read_jobs_query(protocol::JobsQuery::Reader in) {
  if (!in.hasBefore()) return {};
  return {.before = read_job_id(in.getBefore())};
}

Question read_question(Asked::Reader in, Reader& reader) {
  switch (in.which()) {
    case Asked::STATUS:
      return StatusQuery{};
    case Asked::JOBS:
      return read_jobs_query(in.getJobs());
    case Asked::JOB:
      return JobQuery{read_job_id(in.getJob())};
    case Asked::OPEN_JOB:
      return OpenJob{read_job_options(in.getOpenJob(), reader)};
    case Asked::CLOSE_JOB:
      return CloseJob{read_job_id(in.getCloseJob())};
    case Asked::CANCEL_JOB:
      return CancelJob{read_job_id(in.getCancelJob())};
    case Asked::DRAIN:
      return Drain{};
    case Asked::UNDRAIN:
      return Undrain{};
  }
  reader.refuse("the question is unknown");
  return StatusQuery{};
}

// ---- replies ----

struct ReplyRoom {
  Room& room;
  void operator()(const Refusal& reply) const { add_room(room, reply); }
  void operator()(const Nothing& /*reply*/) const {}
  void operator()(const DaemonStatus& reply) const { add_room(room, reply); }
  void operator()(const JobsPage& reply) const {
    room.add_struct<protocol::JobsPage>().add_structs<protocol::JobInfo>(reply.jobs.size());
    for (const JobInfo& job : reply.jobs) add_contents_room(room, job);
  }
  void operator()(const JobInfo& reply) const {
    room.add_struct<protocol::JobInfo>();
    add_contents_room(room, reply);
  }
  void operator()(const JobId& /*reply*/) const { room.add_struct<protocol::JobId>(); }
};

struct ReplyWriter {
  Answered::Builder out;
  void operator()(const Refusal& reply) { write_refusal(reply, out.initRefusal()); }
  void operator()(const Nothing& /*reply*/) { out.setNothing(); }
  void operator()(const DaemonStatus& reply) { write_status(reply, out.initStatus()); }
  void operator()(const JobsPage& reply) {
    auto page = out.initJobs();
    page.setHasMore(reply.has_more);
    auto jobs = page.initJobs(static_cast<unsigned>(reply.jobs.size()));
    for (unsigned i = 0; i < jobs.size(); ++i) write_job(reply.jobs[i], jobs[i]);
  }
  void operator()(const JobInfo& reply) { write_job(reply, out.initJob()); }
  void operator()(const JobId& reply) { write_job_id(reply, out.initOpened()); }
};

JobsPage read_page(protocol::JobsPage::Reader in, Reader& reader) {
  JobsPage page;
  const auto jobs = in.getJobs();
  const unsigned count = reader.elements("the page of jobs", jobs, kJobsInPage);
  for (unsigned i = 0; i < count; ++i) page.jobs.push_back(read_job(jobs[i], reader));
  page.has_more = in.getHasMore();
  return page;
}

Reply read_reply(Answered::Reader in, Reader& reader) {
  switch (in.which()) {
    case Answered::REFUSAL:
      return read_refusal(in.getRefusal(), reader);
    case Answered::NOTHING:
      return Nothing{};
    case Answered::STATUS:
      return read_status(in.getStatus(), reader);
    case Answered::JOBS:
      return read_page(in.getJobs(), reader);
    case Answered::JOB:
      return read_job(in.getJob(), reader);
    case Answered::OPENED:
      return read_job_id(in.getOpened());
  }
  reader.refuse("the kind of answer is unknown");
  return Nothing{};
}

}  // namespace

void encode(const ControlRequest& request, Words& words) {
  Room room;
  room.add_struct<protocol::ControlRequest>();
  std::visit(QuestionRoom{room}, request.question);
  write_message<protocol::ControlRequest>(room, words, [&](protocol::ControlRequest::Builder out) {
    out.setNumber(request.number);
    std::visit(QuestionWriter{out.getQuestion()}, request.question);
  });
}

Result<ControlRequest> decode_control_request(WordView words) {
  return read_message<protocol::ControlRequest, ControlRequest>(
      words, [](protocol::ControlRequest::Reader in, ControlRequest& request, Reader& reader) {
        request.number = in.getNumber();
        request.question = read_question(in.getQuestion(), reader);
      });
}

void encode(const ControlReply& reply, Words& words) {
  Room room;
  room.add_struct<protocol::ControlReply>();
  std::visit(ReplyRoom{room}, reply.reply);
  write_message<protocol::ControlReply>(room, words, [&](protocol::ControlReply::Builder out) {
    out.setNumber(reply.number);
    std::visit(ReplyWriter{out.getReply()}, reply.reply);
  });
}

Result<ControlReply> decode_control_reply(WordView words) {
  return read_message<protocol::ControlReply, ControlReply>(
      words, [](protocol::ControlReply::Reader in, ControlReply& reply, Reader& reader) {
        reply.number = in.getNumber();
        reply.reply = read_reply(in.getReply(), reader);
      });
}

}  // namespace deepinfer::ipc
