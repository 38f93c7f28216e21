// The messages and tools of a chat request, checked and in plain structs.
//
// Errors:   kInvalidArgument with a JSON pointer into the request: "/messages/2/role: ..."
// Threads:  pure functions
// Source:   spec/model.md 9.2
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/text/python_json.h"

namespace deepinfer::engine {

enum class Role : std::uint8_t { kSystem, kDeveloper, kUser, kAssistant, kTool, kLatestReminder };

struct AssistantCall {
  std::string id;    // may be empty
  std::string name;  // with its namespace
  std::vector<JsonMember> arguments;
};

struct ChatMessage {
  Role role = Role::kUser;
  std::string content;               // text parts joined by a blank line
  std::string reasoning;             // assistant
  std::vector<AssistantCall> calls;  // assistant
  std::string call_id;               // tool
  std::string task;                  // user: a task's name, or empty
  std::vector<std::string> tools;    // system, developer: one schema a line
  std::string response_format;       // system, developer: a schema, or empty
};

[[nodiscard]] Result<std::vector<ChatMessage>> parse_messages(const Json& messages);
// The `function` objects as the prompt shows them. `at` is the pointer of `tools`.
[[nodiscard]] Result<std::vector<std::string>> parse_tools(const Json& tools,
                                                           const std::string& at);
// The calls of an assistant message that lies at `at`.
[[nodiscard]] Result<std::vector<AssistantCall>> parse_calls(const Json& message,
                                                             const std::string& at);
[[nodiscard]] Result<std::string> parse_response_format(const Json& schema, const std::string& at);

}  // namespace deepinfer::engine
