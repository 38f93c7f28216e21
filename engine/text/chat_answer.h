// The text of an assistant turn -> reasoning, content and tool calls, as OpenAI-style clients expect.
//
// Grammar of a turn: [reasoning </think>] content [two newlines + calls block]. What does not parse
// as a calls block stays in the content, whole. An answer cut inside the reasoning has no content.
//
// Threads:  pure functions
// Source:   spec/model.md 9.2
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deepinfer::engine {

struct ToolCall {
  std::string name;       // "ns::fn" for a namespaced tool
  std::string arguments;  // a JSON object, Python's default separators, non-ASCII kept
  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

struct ChatAnswer {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> tool_calls;
  bool reasoning_closed = false;  // </think> was there, or the turn began without thinking
};

// `text` has the control tokens spelled out, without the final end token. `thinking`: the prompt
// ended with <think>.
[[nodiscard]] ChatAnswer parse_answer(std::string_view text, bool thinking);

}  // namespace deepinfer::engine
