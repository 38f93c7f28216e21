#include "client/cli/chat_fields.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace deepinfer::cli {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kRoles{"system", "user",      "assistant",
                                                 "tool",   "developer", "latest_reminder"};

std::string joined_roles() {
  std::string text;
  for (const std::string_view role : kRoles) text.append(text.empty() ? "" : ", ").append(role);
  return text;
}

// The role, when it is one of those there are.
std::string read_role(FieldReader& message) {
  if (!message.has("role")) {
    message.note("missing_field", "role", "a message has no role");
    return {};
  }
  const auto role = message.text("role");
  if (!role) return {};
  if (std::find(kRoles.begin(), kRoles.end(), *role) != kRoles.end()) return *role;
  message.note("invalid_value", "role",
               "role must be one of " + joined_roles() + ", is " + shown(json(*role)));
  return {};
}

void read_part(const json& part, const std::string& pointer, FieldProblems& problems) {
  if (!part.is_object()) {
    problems.push_back(
        {"invalid_type", "a content part must be an object, is " + shown(part), pointer});
    return;
  }
  FieldReader fields(part, pointer, problems);
  const auto type = fields.text("type");
  if (type && *type != "text") {
    fields.note("invalid_value", "type",
                "content parts of type " + shown(json(*type)) + " are not built into this version");
    return;
  }
  if (!type && !fields.has("type")) {
    fields.note("missing_field", "type", "a content part has no type");
  }
  if (!fields.has("text")) fields.note("missing_field", "text", "a text part has no text");
  static_cast<void>(fields.text("text"));
  fields.finish();
}

// A string, an array of text parts, or nothing where the role allows it.
void read_content(FieldReader& message, const std::string& role) {
  const json* content = message.value("content");
  if (content == nullptr) {
    const bool may_lack = role == "assistant" || role == "system" || role == "developer";
    if (!may_lack && !role.empty()) {
      message.note("missing_field", "content", "a message of role " + role + " has no content");
    }
    return;
  }
  if (content->is_string()) return;
  const std::string pointer = message.pointer("content");
  if (!content->is_array()) {
    message.note("invalid_type", "content",
                 "content must be a string or an array of parts, is " + shown(*content));
    return;
  }
  for (std::size_t i = 0; i < content->size(); ++i) {
    read_part((*content)[i], pointer_to(pointer, std::to_string(i)), message.problems());
  }
}

// An array of objects under `name`; its elements go to `check` with their pointers.
template <typename Check>
void read_objects(FieldReader& fields, std::string_view name, Check check) {
  const json* list = fields.value(name);
  if (list == nullptr) return;
  if (!list->is_array()) {
    fields.note("invalid_type", name, std::string(name) + " must be an array, is " + shown(*list));
    return;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string pointer = pointer_to(fields.pointer(name), std::to_string(i));
    if ((*list)[i].is_object()) {
      check((*list)[i], pointer);
      continue;
    }
    fields.problems().push_back(
        {"invalid_type",
         "an element of " + std::string(name) + " must be an object, is " + shown((*list)[i]),
         pointer});
  }
}

// {"type": "function", "function": {"name": ...}}, of a tool or of a call.
void read_function(const json& tool, const std::string& pointer, FieldProblems& problems) {
  FieldReader fields(tool, pointer, problems);
  const auto type = fields.text("type");
  if (type && *type != "function") {
    fields.note("invalid_value", "type", "type must be function, is " + shown(json(*type)));
  }
  const json* function = fields.value("function");
  if (function == nullptr) {
    fields.note("missing_field", "function", "a tool has no function");
    return;
  }
  if (!function->is_object()) {
    fields.note("invalid_type", "function", "function must be an object, is " + shown(*function));
    return;
  }
  FieldReader inner(*function, fields.pointer("function"), problems);
  if (!inner.has("name")) inner.note("missing_field", "name", "a function has no name");
  static_cast<void>(inner.text("name"));
}

void read_message(const json& value, const std::string& pointer, FieldProblems& problems) {
  FieldReader message(value, pointer, problems);
  const std::string role = read_role(message);
  read_content(message, role);
  for (const std::string_view name :
       {"name", "tool_call_id", "reasoning_content", "reasoning", "task", "refusal"}) {
    static_cast<void>(message.text(name));
  }
  // Tools and a response format may also stand in a system message; the encoder reads them there.
  for (const std::string_view name : {"tool_calls", "tools"}) {
    read_objects(message, name, [&problems](const json& tool, const std::string& where) {
      read_function(tool, where, problems);
    });
  }
  message.refuse("response_format",
                 "structured output (response_format) is not built into this version");
  message.finish();
}

std::string read_messages(FieldReader& fields) {
  const json* messages = fields.value("messages");
  if (messages == nullptr) {
    fields.note("missing_field", "messages", "messages are missing");
    return {};
  }
  if (messages->is_array() && messages->empty()) {
    fields.note("invalid_value", "messages", "messages is empty");
    return {};
  }
  read_objects(fields, "messages", [&fields](const json& message, const std::string& pointer) {
    read_message(message, pointer, fields.problems());
  });
  return messages->dump();
}

std::string read_tools(FieldReader& fields) {
  read_objects(fields, "tools", [&fields](const json& tool, const std::string& pointer) {
    read_function(tool, pointer, fields.problems());
  });
  const json* tools = fields.value("tools");
  const json* choice = fields.value("tool_choice");
  const bool is_none = choice != nullptr && *choice == "none";
  if (choice != nullptr && !is_none && *choice != "auto") {
    fields.note("invalid_value", "tool_choice",
                "tool_choice must be auto or none; forcing a call needs structured output, which "
                "is not built into this version");
  }
  // Tools that must not be called are not shown either.
  if (tools == nullptr || is_none || (tools->is_array() && tools->empty())) return {};
  return tools->dump();
}

void read_response_format(FieldReader& fields) {
  const json* format = fields.value("response_format");
  if (format == nullptr) return;
  const bool is_text = format->is_object() && format->size() == 1 && format->contains("type") &&
                       format->at("type") == "text";
  if (is_text) return;
  fields.note("invalid_value", "response_format",
              "structured output (response_format) is not built into this version");
}

// true, false, {"type": "enabled"} or {"type": "disabled"}.
std::optional<bool> read_switch(FieldReader& fields) {
  const json* value = fields.value("thinking");
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_object() && value->size() == 1 && value->contains("type")) {
    if (value->at("type") == "enabled") return true;
    if (value->at("type") == "disabled") return false;
  }
  const bool is_form = value->is_object();
  fields.note(is_form ? "invalid_value" : "invalid_type", "thinking",
              "thinking must be true, false, {\"type\": \"enabled\"} or {\"type\": \"disabled\"}, "
              "is " +
                  shown(*value));
  return std::nullopt;
}

// low, high, max, or a number; the names are those of spec 9.2.
std::optional<std::int64_t> read_effort(FieldReader& fields) {
  const json* value = fields.value("reasoning_effort");
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return fields.integer("reasoning_effort", {.least = 1, .most = 100});
  if (*value == "low") return 50;
  if (*value == "high") return 75;
  if (*value == "max") return 100;
  fields.note("invalid_value", "reasoning_effort",
              "reasoning_effort must be low, high, max or 1 to 100, is " + shown(*value));
  return std::nullopt;
}

}  // namespace

Thinking read_thinking(FieldReader& fields) {
  Thinking result;
  fields.exclude("thinking", "enable_thinking");
  const auto thinking = read_switch(fields);
  const auto alias = fields.boolean("enable_thinking");
  const auto effort = read_effort(fields);
  result.is_set = thinking || alias || effort;
  result.thinking = thinking.value_or(alias.value_or(true));
  result.reasoning_effort = effort.value_or(result.reasoning_effort);
  return result;
}

ChatPrompt read_chat(FieldReader& fields, const Thinking& thinking) {
  ChatPrompt prompt;
  prompt.messages = read_messages(fields);
  prompt.tools = read_tools(fields);
  read_response_format(fields);
  prompt.thinking = thinking.thinking;
  prompt.reasoning_effort = thinking.reasoning_effort;
  return prompt;
}

}  // namespace deepinfer::cli
