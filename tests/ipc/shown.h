// Every field of a message as text, to compare what was sent with what arrived.
//
// Each struct is taken apart by a structured binding: one that gains a field does not compile here until it
// is named, and then the codec's tests fail until the codec carries it. Numbers with a point are shown by
// their bits.
#pragma once

#include <bit>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "ipc/messages.h"

namespace deepinfer::ipc {

// ---- structs as tuples of their fields ----

inline auto fields(const SamplingParams& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
}
inline auto fields(const TextPrompt& value) { return std::tie(value.text); }
inline auto fields(const TokenPrompt& value) { return std::tie(value.ids); }
inline auto fields(const ChatPrompt& value) {
  const auto& [a, b, c, d, e] = value;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const Request& value) {
  const auto& [a, b, c, d, e, f] = value;
  return std::tie(a, b, c, d, e, f);
}
inline auto fields(const RequestError& value) {
  const auto& [a, b, c] = value;
  return std::tie(a, b, c);
}
inline auto fields(const TokenLogprob& value) {
  const auto& [a, b, c] = value;
  return std::tie(a, b, c);
}
inline auto fields(const TokenEvent& value) {
  const auto& [a, b, c, d, e, f] = value;
  return std::tie(a, b, c, d, e, f);
}
inline auto fields(const ToolCallText& value) {
  const auto& [a, b] = value;
  return std::tie(a, b);
}
inline auto fields(const Choice& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
}
inline auto fields(const RequestResult& value) {
  const auto& [a, b, c] = value;
  return std::tie(a, b, c);
}
inline auto fields(const EngineStats& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j);
}
inline auto fields(const ModelFacts& value) {
  const auto& [a, b, c, d, e] = value;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const JobId& value) {
  const auto& [a, b] = value;
  return std::tie(a, b);
}
inline auto fields(const JobOptions& value) {
  const auto& [a, b, c, d] = value;
  return std::tie(a, b, c, d);
}
inline auto fields(const JobCounts& value) {
  const auto& [a, b, c, d, e, f] = value;
  return std::tie(a, b, c, d, e, f);
}
inline auto fields(const JobInfo& value) {
  const auto& [a, b, c, d, e, f, g, h] = value;
  return std::tie(a, b, c, d, e, f, g, h);
}
inline auto fields(const DaemonStatus& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
}
inline auto fields(const Geometry& value) {
  const auto& [a, b, c, d] = value;
  return std::tie(a, b, c, d);
}
inline auto fields(const Hello& value) {
  const auto& [a, b, c, d, e, f, g, h, i] = value;
  return std::tie(a, b, c, d, e, f, g, h, i);
}
inline auto fields(const Welcome& value) {
  const auto& [a, b, c, d, e, f, g, h, i] = value;
  return std::tie(a, b, c, d, e, f, g, h, i);
}
inline auto fields(const Refusal& value) {
  const auto& [a, b, c, d] = value;
  return std::tie(a, b, c, d);
}
inline auto fields(const JobsQuery& value) { return std::tie(value.before); }
inline auto fields(const JobQuery& value) { return std::tie(value.job); }
inline auto fields(const OpenJob& value) { return std::tie(value.options); }
inline auto fields(const CloseJob& value) { return std::tie(value.job); }
inline auto fields(const CancelJob& value) { return std::tie(value.job); }
inline auto fields(const ControlRequest& value) {
  const auto& [a, b] = value;
  return std::tie(a, b);
}
inline auto fields(const JobsPage& value) {
  const auto& [a, b] = value;
  return std::tie(a, b);
}
inline auto fields(const ControlReply& value) {
  const auto& [a, b] = value;
  return std::tie(a, b);
}
inline auto fields(const Span& value) {
  const auto& [a, b] = value;
  return std::tie(a, b);
}
inline auto fields(const TextSpans& value) { return std::tie(value.text); }
inline auto fields(const TokenSpans& value) { return std::tie(value.ids); }
inline auto fields(const ChatSpans& value) {
  const auto& [a, b, c, d, e] = value;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const SubmitMessage& value) {
  const auto& [a, b, c, d] = value;
  return std::tie(a, b, c, d);
}

// ---- anything as text ----

template <typename Value>
void show(std::string& out, const Value& value);

template <typename Value>
void show_one(std::string& out, const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    out += "#" + std::to_string(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_same_v<Value, double>) {
    out += std::to_string(std::bit_cast<std::uint64_t>(value)) + "d";
  } else if constexpr (std::is_same_v<Value, float>) {
    out += std::to_string(std::bit_cast<std::uint32_t>(value)) + "f";
  } else if constexpr (std::is_integral_v<Value>) {
    out += std::to_string(value);
  } else if constexpr (std::is_empty_v<Value>) {
    out += "{}";
  } else {
    out += "{";
    std::apply([&](const auto&... field) { (show(out, field), ...); }, fields(value));
    out += "}";
  }
}

inline void show_one(std::string& out, const std::string& text) {
  out += std::to_string(text.size()) + "\"" + text + "\"";
}
template <typename Rep, typename Period>
void show_one(std::string& out, const std::chrono::duration<Rep, Period>& time) {
  out += std::to_string(time.count());
}
template <typename Clock, typename Duration>
void show_one(std::string& out, const std::chrono::time_point<Clock, Duration>& time) {
  out += std::to_string(time.time_since_epoch().count());
}
template <typename Value>
void show_one(std::string& out, const std::optional<Value>& value) {
  out += value ? "set:" : "unset";
  if (value) show(out, *value);
}
template <typename First, typename Second>
void show_one(std::string& out, const std::pair<First, Second>& value) {
  show(out, value.first);
  show(out, value.second);
}
template <typename... Values>
void show_one(std::string& out, const std::variant<Values...>& value) {
  out += "form " + std::to_string(value.index()) + ":";
  std::visit([&](const auto& form) { show(out, form); }, value);
}
template <typename Range>
void show_all(std::string& out, const Range& range) {
  out += "[" + std::to_string(range.size()) + ":";
  for (const auto& element : range) show(out, element);
  out += "]";
}
template <typename Value>
void show_one(std::string& out, const std::vector<Value>& values) {
  show_all(out, values);
}
template <typename Key, typename Value>
void show_one(std::string& out, const std::map<Key, Value>& values) {
  show_all(out, values);
}

template <typename Value>
void show(std::string& out, const Value& value) {
  show_one(out, value);
  out += ' ';
}

template <typename Value>
[[nodiscard]] std::string shown(const Value& value) {
  std::string out;
  show(out, value);
  return out;
}

}  // namespace deepinfer::ipc
