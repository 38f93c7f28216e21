// The parts of a request that make it a chat: messages, tools, thinking.
//
// Shapes are checked here, so that a bad line is known before any work starts; what a conversation
// means (order of roles, matching of tool results) is checked where the prompt is rendered.
//
// Errors:   noted in the reader's problems with their JSON pointers
// Threads:  pure functions
#pragma once

#include <deepinfer/engine.h>

#include "client/cli/fields.h"

namespace deepinfer::cli {

// `thinking`, `enable_thinking` and `reasoning_effort`, wherever the sampling parameters stand.
struct Thinking {
  bool is_set = false;  // one of the fields is there
  bool thinking = true;
  std::int64_t reasoning_effort = 75;  // 1 .. 100
};
[[nodiscard]] Thinking read_thinking(FieldReader& fields);

// `messages`, `tools`, `tool_choice`, `response_format` of `fields`, with `thinking`.
[[nodiscard]] ChatPrompt read_chat(FieldReader& fields, const Thinking& thinking);

}  // namespace deepinfer::cli
