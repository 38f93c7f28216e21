// Tools, their calls and response formats of a chat request.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/text/chat_messages.h"
#include "engine/text/json_fields.h"

namespace deepinfer::engine {
namespace {

// A name stands between quotes and angle brackets, where nothing can be escaped.
Status check_name(const std::string& name, const std::string& at) {
  const bool is_bad = std::any_of(name.begin(), name.end(), [](char c) {
    return c == '"' || c == '<' || c == '>' || static_cast<unsigned char>(c) < 0x20;
  });
  if (name.empty()) return fail_at(at, "must not be empty");
  if (is_bad) return fail_at(at, "must not hold quotes, angle brackets or control characters");
  return Done{};
}

struct Namespace {
  std::string name;
  std::string description;
};

// A name, or an object of name and description; absent is allowed.
Result<Namespace> parse_namespace(const Json& owner, const std::string& at) {
  const Json* value = find_field(owner, "namespace");
  const std::string here = at + "/namespace";
  Namespace space;
  if (value == nullptr) return space;
  if (value->is_string()) {
    space.name = value->get<std::string>();
  } else {
    DEEPINFER_TRY(const auto object, require_object(*value, here));
    DEEPINFER_TRY(space.name, string_field(*object, "name", here));
    DEEPINFER_TRY(space.description, optional_string_field(*object, "description", here));
  }
  DEEPINFER_TRY([[maybe_unused]] const auto checked, check_name(space.name, here));
  return space;
}

std::string qualified(const Namespace& space, const std::string& name) {
  return space.name.empty() ? name : space.name + "::" + name;
}

Result<const Json*> function_of(const Json& tool, const std::string& at) {
  DEEPINFER_TRY(const auto object, require_object(tool, at));
  DEEPINFER_TRY(const auto type, optional_string_field(*object, "type", at));
  if (!type.empty() && type != "function") {
    return fail_at(at + "/type", "must be 'function', got '" + type + "'");
  }
  const Json* function = find_field(*object, "function");
  if (function == nullptr) return fail_at(at + "/function", "is missing");
  return require_object(*function, at + "/function");
}

Result<std::string> parse_tool(const Json& tool, const std::string& at) {
  DEEPINFER_TRY(const auto function, function_of(tool, at));
  const std::string here = at + "/function";
  DEEPINFER_TRY(const auto name, string_field(*function, "name", here));
  DEEPINFER_TRY([[maybe_unused]] const auto checked, check_name(name, here + "/name"));
  DEEPINFER_TRY(const auto description, optional_string_field(*function, "description", here));
  DEEPINFER_TRY(const auto space, parse_namespace(tool, at));

  // Written once before it is copied: a copy of a value that is nested too deeply would not end well.
  Result<std::string> text = python_json(*function);
  if (!text) return fail_at(here, text.error().message);
  if (space.name.empty()) return text;

  Json shown = *function;
  shown["name"] = qualified(space, name);
  if (!space.description.empty()) {
    const std::string rest = description.empty() ? "" : "\n" + description;
    shown["description"] = space.description + rest;
  }
  return python_json(shown);
}

// Text that is the JSON of an object, or the JSON of such a text; else one argument of that name.
std::vector<JsonMember> members_of_text(const std::string& text) {
  std::optional<std::vector<JsonMember>> members = parse_members(text);
  if (members) return *std::move(members);
  const Json inner = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (inner.is_string()) members = parse_members(inner.get_ref<const std::string&>());
  if (members) return *std::move(members);
  return {{.key = "arguments", .is_string = true, .value = text}};
}

Result<std::vector<JsonMember>> parse_arguments(const Json& function, const std::string& at) {
  const Json* arguments = find_field(function, "arguments");
  const std::string here = at + "/arguments";
  if (arguments == nullptr) return fail_at(here, "is missing");
  if (arguments->is_string()) return members_of_text(arguments->get_ref<const std::string&>());
  if (!arguments->is_object()) return fail_at(here, "must be a string or an object");
  Result<std::vector<JsonMember>> members = json_members(*arguments);
  if (!members) return fail_at(here, members.error().message);
  return members;
}

Result<AssistantCall> parse_call(const Json& call, const std::string& at) {
  AssistantCall parsed;
  DEEPINFER_TRY(const auto function, function_of(call, at));
  DEEPINFER_TRY(parsed.id, optional_string_field(call, "id", at));
  DEEPINFER_TRY(const auto name, string_field(*function, "name", at + "/function"));
  DEEPINFER_TRY([[maybe_unused]] const auto checked, check_name(name, at + "/function/name"));
  DEEPINFER_TRY(const auto space, parse_namespace(call, at));
  parsed.name = qualified(space, name);
  DEEPINFER_TRY(parsed.arguments, parse_arguments(*function, at + "/function"));
  return parsed;
}

}  // namespace

Result<std::vector<std::string>> parse_tools(const Json& tools, const std::string& at) {
  std::vector<std::string> lines;
  if (tools.is_null()) return lines;
  if (!tools.is_array()) return fail_at(at, "must be an array");
  for (std::size_t i = 0; i < tools.size(); ++i) {
    DEEPINFER_TRY(auto line, parse_tool(tools[i], at + "/" + std::to_string(i)));
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<std::string> parse_response_format(const Json& schema, const std::string& at) {
  if (schema.is_null()) return std::string();
  Result<std::string> text = python_json(schema);
  if (!text) return fail_at(at, text.error().message);
  return text;
}

Result<std::vector<AssistantCall>> parse_calls(const Json& message, const std::string& at) {
  std::vector<AssistantCall> calls;
  const Json* values = find_field(message, "tool_calls");
  const std::string here = at + "/tool_calls";
  if (values == nullptr) return calls;
  if (!values->is_array()) return fail_at(here, "must be an array");
  for (std::size_t i = 0; i < values->size(); ++i) {
    const std::string place = here + "/" + std::to_string(i);
    DEEPINFER_TRY(auto call, parse_call((*values)[i], place));
    const bool is_repeated =
        !call.id.empty() && std::any_of(calls.begin(), calls.end(),
                                        [&](const AssistantCall& c) { return c.id == call.id; });
    if (is_repeated) return fail_at(place + "/id", "repeats '" + call.id + "'");
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace deepinfer::engine
