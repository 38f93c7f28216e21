// Reads the fields of JSON objects of a request; every error names its place by JSON pointer.
//
// A field that is null is as one that is absent.
// Errors:   kInvalidArgument: "/messages/0/role: must be a string"
// Threads:  pure functions
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "engine/text/python_json.h"

namespace deepinfer::engine {

[[nodiscard]] inline Error fail_at(const std::string& at, const std::string& message) {
  return fail(ErrorCode::kInvalidArgument, at + ": " + message);
}

[[nodiscard]] inline const Json* find_field(const Json& object, const char* name) {
  const auto field = object.find(name);
  return field == object.end() || field->is_null() ? nullptr : &*field;
}

[[nodiscard]] inline Result<const Json*> require_object(const Json& value, const std::string& at) {
  if (!value.is_object()) return fail_at(at, "must be an object");
  return &value;
}

// Empty when absent.
[[nodiscard]] inline Result<std::string> optional_string_field(const Json& object, const char* name,
                                                               const std::string& at) {
  const Json* field = find_field(object, name);
  if (field == nullptr) return std::string();
  if (!field->is_string()) return fail_at(at + "/" + name, "must be a string");
  return field->get<std::string>();
}

[[nodiscard]] inline Result<std::string> string_field(const Json& object, const char* name,
                                                      const std::string& at) {
  if (find_field(object, name) == nullptr) return fail_at(at + "/" + name, "is missing");
  return optional_string_field(object, name, at);
}

}  // namespace deepinfer::engine
