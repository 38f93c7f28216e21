#include <cstdint>
#include <limits>
#include <utility>
#include <variant>

#include "ipc/capnp_reader.h"
#include "ipc/capnp_writer.h"
#include "ipc/codec.h"
#include "ipc/codec_facts.h"
#include "ipc/protocol.capnp.h"

namespace deepinfer::ipc {
namespace {

constexpr std::size_t kMostNameBytes = 64;

void write_geometry(const Geometry& geometry, protocol::Geometry::Builder out) {
  out.setSubmissionEntries(geometry.submission_entries);
  out.setCompletionEntries(geometry.completion_entries);
  out.setArenaBytes(geometry.arena_bytes);
  out.setResultBytes(geometry.result_bytes);
}

Geometry read_geometry(protocol::Geometry::Reader in) {
  return {.submission_entries = in.getSubmissionEntries(),
          .completion_entries = in.getCompletionEntries(),
          .arena_bytes = in.getArenaBytes(),
          .result_bytes = in.getResultBytes()};
}

void write_welcome(const Welcome& welcome, protocol::Welcome::Builder out) {
  out.setAbiMajor(welcome.abi_major);
  out.setAbiMinor(welcome.abi_minor);
  out.setFeatures(welcome.features);
  out.setSession(welcome.session);
  out.setEpoch(welcome.epoch);
  write_geometry(welcome.granted, out.initGranted());
  out.setMaxUnfinished(welcome.max_unfinished);
  out.setVersion(data_of(welcome.version));
  write_model(welcome.model, out.initModel());
}

Welcome read_welcome(protocol::Welcome::Reader in, Reader& reader) {
  return {.abi_major = in.getAbiMajor(),
          .abi_minor = in.getAbiMinor(),
          .features = in.getFeatures(),
          .session = in.getSession(),
          .epoch = in.getEpoch(),
          .granted = read_geometry(in.getGranted()),
          .max_unfinished = in.getMaxUnfinished(),
          .version = reader.text("the version", in.getVersion()),
          .model = read_model(in.getModel(), reader)};
}

void read_hello(protocol::Hello::Reader in, Hello& hello, Reader& reader) {
  hello = {
      .magic = in.getMagic(),
      .abi_major = in.getAbiMajor(),
      .abi_minor = in.getAbiMinor(),
      .layout = in.getLayout(),
      .features = in.getFeatures(),
      .kind = reader.known("the kind of connection", in.getKind(), ConnectionKind::kSession),
      .client_name = reader.text("the client's name", in.getClientName(), kMostNameBytes),
      .client_version = reader.text("the client's version", in.getClientVersion(), kMostNameBytes),
      .wanted = read_geometry(in.getWanted())};
}

void read_hello_reply(protocol::HelloReply::Reader in, HelloReply& reply, Reader& reader) {
  switch (in.which()) {
    case protocol::HelloReply::WELCOME:
      reply = read_welcome(in.getWelcome(), reader);
      return;
    case protocol::HelloReply::REFUSAL:
      reply = read_refusal(in.getRefusal(), reader);
      return;
  }
  reader.refuse("the kind of answer is unknown");
}

Room room_of(const HelloReply& reply) {
  Room room;
  room.add_struct<protocol::HelloReply>();
  if (const auto* refusal = std::get_if<Refusal>(&reply)) {
    add_room(room, *refusal);
    return room;
  }
  const auto& welcome = std::get<Welcome>(reply);
  room.add_struct<protocol::Welcome>().add_struct<protocol::Geometry>();
  room.add_bytes(welcome.version.size());
  add_room(room, welcome.model);
  return room;
}

}  // namespace

void encode(const Hello& hello, Words& words) {
  Room room;
  room.add_struct<protocol::Hello>().add_struct<protocol::Geometry>();
  room.add_bytes(hello.client_name.size()).add_bytes(hello.client_version.size());
  write_message<protocol::Hello>(room, words, [&](protocol::Hello::Builder out) {
    out.setMagic(hello.magic);
    out.setAbiMajor(hello.abi_major);
    out.setAbiMinor(hello.abi_minor);
    out.setLayout(hello.layout);
    out.setFeatures(hello.features);
    out.setKind(static_cast<protocol::ConnectionKind>(hello.kind));
    out.setClientName(data_of(hello.client_name));
    out.setClientVersion(data_of(hello.client_version));
    write_geometry(hello.wanted, out.initWanted());
  });
}

Result<Hello> decode_hello(WordView words) {
  return read_message<protocol::Hello, Hello>(words, read_hello);
}

void encode(const HelloReply& reply, Words& words) {
  write_message<protocol::HelloReply>(
      room_of(reply), words, [&](protocol::HelloReply::Builder out) {
        if (const auto* refusal = std::get_if<Refusal>(&reply)) {
          write_refusal(*refusal, out.initRefusal());
        } else {
          write_welcome(std::get<Welcome>(reply), out.initWelcome());
        }
      });
}

Result<HelloReply> decode_hello_reply(WordView words) {
  return read_message<protocol::HelloReply, HelloReply>(words, read_hello_reply);
}

}  // namespace deepinfer::ipc
