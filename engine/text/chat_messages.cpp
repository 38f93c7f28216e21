#include "engine/text/chat_messages.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/text/json_fields.h"

namespace deepinfer::engine {
namespace {

struct RoleName {
  std::string_view name;
  Role role;
};

constexpr std::array<RoleName, 6> kRoles = {{{"system", Role::kSystem},
                                             {"developer", Role::kDeveloper},
                                             {"user", Role::kUser},
                                             {"assistant", Role::kAssistant},
                                             {"tool", Role::kTool},
                                             {"latest_reminder", Role::kLatestReminder}}};

constexpr std::array<std::string_view, 6> kTasks = {"action", "query", "authority",
                                                    "domain", "title", "read_url"};

constexpr std::array<std::string_view, 3> kImageParts = {"image_url", "image", "input_image"};

// `name` says who speaks and has no place in the prompt format.
constexpr std::array<std::string_view, 9> kFields = {
    "role",  "content",         "name", "reasoning_content", "tool_calls", "tool_call_id",
    "tools", "response_format", "task"};

// What OpenAI's clients send back of an answer, empty.
constexpr std::array<std::string_view, 4> kEmptyFields = {"refusal", "annotations", "audio",
                                                          "function_call"};

template <std::size_t Count>
bool has(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_fields(const Json& message, const std::string& at) {
  for (const auto& item : message.items()) {
    const bool is_empty = item.value().is_null() || item.value().empty();
    if (has(kFields, item.key()) || (is_empty && has(kEmptyFields, item.key()))) continue;
    return fail_at(at + "/" + item.key(), "unknown field");
  }
  return Done{};
}

// A field that only `roles` may have.
Status check_place(const Json& message, const char* field, std::initializer_list<Role> roles,
                   Role role, const std::string& at) {
  const bool is_allowed = std::find(roles.begin(), roles.end(), role) != roles.end();
  if (is_allowed || find_field(message, field) == nullptr) return Done{};
  return fail_at(at + "/" + field, "does not belong to a message of this role");
}

Result<Role> parse_role(const Json& message, const std::string& at) {
  DEEPINFER_TRY(const auto name, string_field(message, "role", at));
  for (const RoleName& entry : kRoles) {
    if (entry.name == name) return entry.role;
  }
  return fail_at(
      at + "/role",
      "must be system, developer, user, assistant, tool or latest_reminder, got '" + name + "'");
}

// The text of one part; of a tool's result only the text parts count.
Result<const std::string*> part_text(const Json& part, Role role, const std::string& at) {
  DEEPINFER_TRY(const auto object, require_object(part, at));
  DEEPINFER_TRY(const auto type, string_field(*object, "type", at));
  if (type == "text") {
    const Json* text = find_field(*object, "text");
    if (text == nullptr || !text->is_string()) return fail_at(at + "/text", "must be a string");
    return &text->get_ref<const std::string&>();
  }
  if (role == Role::kTool) return nullptr;
  if (has(kImageParts, type)) return fail_at(at, "images are not supported yet");
  return fail_at(at + "/type", "unknown part type '" + type + "'");
}

Result<std::string> join_parts(const Json& parts, Role role, const std::string& at) {
  std::string joined;
  bool is_first = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    DEEPINFER_TRY(const auto text, part_text(parts[i], role, at + "/" + std::to_string(i)));
    if (text == nullptr) continue;
    if (!is_first) joined += "\n\n";
    joined += *text;
    is_first = false;
  }
  return joined;
}

Result<std::string> parse_content(const Json& message, Role role, bool may_be_absent,
                                  const std::string& at) {
  const std::string here = at + "/content";
  const Json* content = find_field(message, "content");
  if (content == nullptr) {
    if (may_be_absent) return std::string();
    return fail_at(here, "is missing");
  }
  if (content->is_string()) return content->get<std::string>();
  if (content->is_array()) return join_parts(*content, role, here);
  return fail_at(here, "must be a string or an array of parts");
}

Result<std::string> parse_task(const Json& message, const std::string& at) {
  DEEPINFER_TRY(auto task, optional_string_field(message, "task", at));
  const bool is_known = task.empty() || has(kTasks, task);
  if (!is_known) return fail_at(at + "/task", "unknown task '" + task + "'");
  return task;
}

Status check_places(const Json& message, Role role, const std::string& at) {
  const auto check = [&](const char* field, std::initializer_list<Role> roles) {
    return check_place(message, field, roles, role, at);
  };
  DEEPINFER_TRY([[maybe_unused]] const auto a, check("reasoning_content", {Role::kAssistant}));
  DEEPINFER_TRY([[maybe_unused]] const auto b, check("tool_calls", {Role::kAssistant}));
  DEEPINFER_TRY([[maybe_unused]] const auto c, check("tool_call_id", {Role::kTool}));
  DEEPINFER_TRY([[maybe_unused]] const auto d, check("task", {Role::kUser}));
  DEEPINFER_TRY([[maybe_unused]] const auto e, check("tools", {Role::kSystem, Role::kDeveloper}));
  return check("response_format", {Role::kSystem, Role::kDeveloper});
}

Result<ChatMessage> parse_message(const Json& message, const std::string& at) {
  ChatMessage parsed;
  DEEPINFER_TRY(const auto object, require_object(message, at));
  DEEPINFER_TRY([[maybe_unused]] const auto known, check_fields(*object, at));
  DEEPINFER_TRY(parsed.role, parse_role(*object, at));
  DEEPINFER_TRY([[maybe_unused]] const auto placed, check_places(*object, parsed.role, at));
  DEEPINFER_TRY([[maybe_unused]] const auto name, optional_string_field(*object, "name", at));
  DEEPINFER_TRY(parsed.calls, parse_calls(*object, at));
  DEEPINFER_TRY(parsed.content, parse_content(*object, parsed.role, !parsed.calls.empty(), at));
  DEEPINFER_TRY(parsed.reasoning, optional_string_field(*object, "reasoning_content", at));
  DEEPINFER_TRY(parsed.task, parse_task(*object, at));
  if (parsed.role == Role::kTool) {
    DEEPINFER_TRY(parsed.call_id, string_field(*object, "tool_call_id", at));
  }
  if (const Json* tools = find_field(*object, "tools")) {
    DEEPINFER_TRY(parsed.tools, parse_tools(*tools, at + "/tools"));
  }
  if (const Json* schema = find_field(*object, "response_format")) {
    DEEPINFER_TRY(parsed.response_format, parse_response_format(*schema, at + "/response_format"));
  }
  return parsed;
}

// Each tool result answers a call of the last assistant message that has calls.
Status check_results(const std::vector<ChatMessage>& messages) {
  const std::vector<AssistantCall>* calls = nullptr;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    if (!message.calls.empty()) calls = &message.calls;
    if (message.role != Role::kTool) continue;
    const auto answers = [&](const AssistantCall& call) { return call.id == message.call_id; };
    if (calls == nullptr || std::none_of(calls->begin(), calls->end(), answers)) {
      return fail_at("/messages/" + std::to_string(i) + "/tool_call_id",
                     "no call before it has the id '" + message.call_id + "'");
    }
  }
  return Done{};
}

}  // namespace

Result<std::vector<ChatMessage>> parse_messages(const Json& messages) {
  if (!messages.is_array()) return fail_at("/messages", "must be an array");
  if (messages.empty()) return fail_at("/messages", "must not be empty");
  std::vector<ChatMessage> parsed;
  parsed.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    DEEPINFER_TRY(auto message, parse_message(messages[i], "/messages/" + std::to_string(i)));
    parsed.push_back(std::move(message));
  }
  DEEPINFER_TRY([[maybe_unused]] const auto checked, check_results(parsed));
  return parsed;
}

}  // namespace deepinfer::engine
