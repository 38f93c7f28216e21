// Messages with every field set to something that its default is not: for round trips and as seeds.
//
// Threads:  pure functions
#pragma once

#include <vector>

#include "ipc/codec.h"

namespace deepinfer::ipc::samples {

[[nodiscard]] SubmitMessage small_submit();  // as most requests are
[[nodiscard]] std::vector<SubmitMessage> submits();
[[nodiscard]] std::vector<RequestResult> results();
[[nodiscard]] std::vector<RequestError> errors();
[[nodiscard]] std::vector<TokenEvent> tokens();
[[nodiscard]] std::vector<Hello> hellos();
[[nodiscard]] std::vector<HelloReply> hello_replies();
[[nodiscard]] std::vector<ControlRequest> control_requests();
[[nodiscard]] std::vector<ControlReply> control_replies();

// All of a kind, encoded.
template <typename Message>
[[nodiscard]] std::vector<Words> encoded(const std::vector<Message>& messages) {
  std::vector<Words> all;
  for (const Message& message : messages) encode(message, all.emplace_back());
  return all;
}

}  // namespace deepinfer::ipc::samples
