// Puts a request into a session's shared memory: prompt and descriptor.
//
// Threads:  as ipc::ClientEnd's submitting side
// Cost:     the prompt is copied once
// Errors:   ClientError `cannot_fit` for a prompt above the arena's size, `invalid_value` for a descriptor
//           above kMaxDescriptorBytes
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include <deepinfer/client.h>

#include "client/request_table.h"
#include "ipc/client_end.h"
#include "ipc/codec.h"

namespace deepinfer::client {

// Ready to be published: inline, or from the last of its spans.
struct Submission {
  Spans spans{};
  ipc::Words words;       // the descriptor
  bool is_inline = true;  // false: spans.back() holds a copy of it
};

// No room at the moment: what was allocated has been given back.
struct NoRoom {};

// A request for which even an empty arena has no room.
[[nodiscard]] ClientError cannot_fit(const ipc::SpanArena& arena, const Request& request);

[[nodiscard]] std::variant<Submission, NoRoom, ClientError> prepare(
    ipc::SpanArena& arena, const Request& request, const Client::SubmitOptions& options);

// False: the ring is full.
[[nodiscard]] Result<bool> publish(ipc::ClientEnd& end, RequestHandle request,
                                   const Submission& submission);

}  // namespace deepinfer::client
