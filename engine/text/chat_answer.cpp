#include "engine/text/chat_answer.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/text/control_tokens.h"
#include "engine/text/python_json.h"

namespace deepinfer::engine {
namespace {

constexpr std::string_view kCallsOpen = "<｜DSML｜ calls>\n";
constexpr std::string_view kCallsClose = "</｜DSML｜ calls>";
constexpr std::string_view kInvokeOpen = "<｜DSML｜ invoke name=\"";
constexpr std::string_view kInvokeClose = "</｜DSML｜ invoke>\n";
constexpr std::string_view kParameterOpen = "<｜DSML｜ parameter name=\"";
constexpr std::string_view kParameterClose = "</｜DSML｜ parameter>\n";

// Reads a calls block from its first byte on.
class CallsReader {
 public:
  explicit CallsReader(std::string_view text) : rest_(text) {}

  // Nothing when the text is not a whole block, or when anything but white space follows it.
  std::optional<std::vector<ToolCall>> read() {
    std::vector<ToolCall> calls;
    if (!take(kCallsOpen)) return std::nullopt;
    while (take(kInvokeOpen)) {
      std::optional<ToolCall> call = invoke();
      if (!call) return std::nullopt;
      calls.push_back(*std::move(call));
    }
    const bool is_closed = take(kCallsClose);
    const bool is_end = rest_.find_first_not_of(" \t\r\n") == std::string_view::npos;
    if (calls.empty() || !is_closed || !is_end) return std::nullopt;
    return calls;
  }

 private:
  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  // What stands before `mark`, which is taken too.
  std::optional<std::string_view> take_until(std::string_view mark) {
    const std::size_t at = rest_.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view before = rest_.substr(0, at);
    rest_.remove_prefix(at + mark.size());
    return before;
  }

  std::optional<ToolCall> invoke() {
    const auto name = take_until("\">\n");
    if (!name || name->empty() || name->find_first_of("\"<>\n") != std::string_view::npos) {
      return std::nullopt;
    }
    std::vector<std::string> names;
    std::string arguments;
    while (take(kParameterOpen)) {
      const std::optional<JsonMember> member = parameter();
      const bool is_new =
          member && std::find(names.begin(), names.end(), member->key) == names.end();
      if (!is_new) return std::nullopt;
      arguments += names.empty() ? "" : ", ";
      arguments += json_string(member->key) + ": " + member->value;
      names.push_back(member->key);
    }
    if (names.empty()) take("\n");  // the place of the parameters of a call without any
    if (!take(kInvokeClose)) return std::nullopt;
    return ToolCall{std::string(*name), "{" + arguments + "}"};
  }

  // The value as JSON.
  std::optional<JsonMember> parameter() {
    const auto key = take_until("\" string=\"");
    const bool is_string = take("true\">");
    if (!key || (!is_string && !take("false\">"))) return std::nullopt;
    const auto raw = take_until(kParameterClose);
    if (!raw) return std::nullopt;
    const std::optional<std::string> value = is_string ? json_string(*raw) : reformat_json(*raw);
    if (!value) return std::nullopt;
    return JsonMember{std::string(*key), is_string, *value};
  }

  std::string_view rest_;
};

// Takes the calls block off the end of `content`, if one parses.
void take_calls(std::string& content, std::vector<ToolCall>& calls) {
  const std::string_view text = content;
  for (std::size_t at = text.find(kCallsOpen); at != std::string_view::npos;
       at = text.find(kCallsOpen, at + 1)) {
    const std::string_view before = text.substr(0, at);
    if (!before.empty() && !before.ends_with("\n\n")) continue;
    std::optional<std::vector<ToolCall>> read = CallsReader(text.substr(at)).read();
    if (!read) continue;
    calls = *std::move(read);
    content.resize(before.empty() ? 0 : at - 2);
    return;
  }
}

}  // namespace

ChatAnswer parse_answer(std::string_view text, bool thinking) {
  ChatAnswer answer;
  if (thinking) {
    const std::size_t close = text.find(kThinkEndToken);
    answer.reasoning = text.substr(0, close);
    if (close == std::string_view::npos) return answer;
    text.remove_prefix(close + kThinkEndToken.size());
  }
  answer.reasoning_closed = true;
  answer.content = text;
  take_calls(answer.content, answer.tool_calls);
  return answer;
}

}  // namespace deepinfer::engine
