#include "engine/text/chat_template.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/text/chat_messages.h"
#include "engine/text/control_tokens.h"
#include "engine/text/json_fields.h"
#include "tools_prompt_template.h"  // made from tools_prompt_template.txt

namespace deepinfer::engine {
namespace {

constexpr std::string_view kSchemasMark = "{tool_schemas}";

// Messages as the prompt groups them: neighbouring user and tool messages are one turn.
struct Turn {
  struct Part {
    bool is_result = false;
    std::size_t order = 0;  // of a result: which of the calls it answers
    std::string text;
  };
  ChatMessage message;
  std::vector<Part> parts;  // user turns
};

class PieceList {
 public:
  void control(std::string_view spelling) {
    pieces_.push_back({.kind = PieceKind::kControl, .text = std::string(spelling)});
  }
  void text(std::string_view text) {
    if (text.empty()) return;
    if (pieces_.empty() || pieces_.back().kind != PieceKind::kText) pieces_.emplace_back();
    pieces_.back().text += text;
  }
  // Text of our own, in which the spellings of control tokens are meant as such.
  void own_text(std::string_view own);
  [[nodiscard]] std::vector<PromptPiece> take() { return std::move(pieces_); }

 private:
  std::vector<PromptPiece> pieces_;
};

void PieceList::own_text(std::string_view own) {
  constexpr std::array<std::string_view, 3> kSpellings = {kDsmlToken, kThinkToken, kThinkEndToken};
  while (!own.empty()) {
    std::size_t at = own.size();
    std::string_view found;
    for (const std::string_view spelling : kSpellings) {
      const std::size_t place = own.find(spelling);
      if (place < at) {
        at = place;
        found = spelling;
      }
    }
    text(own.substr(0, at));
    if (!found.empty()) control(found);
    own.remove_prefix(at + found.size());
  }
}

// Where the call that `id` answers stands among the calls; checked to be there.
std::size_t call_order(const std::vector<AssistantCall>& calls, const std::string& id) {
  const auto call =
      std::find_if(calls.begin(), calls.end(), [&](const AssistantCall& c) { return c.id == id; });
  return static_cast<std::size_t>(call - calls.begin());
}

// Results come in the order of their calls, in the places that results have.
void order_results(std::vector<Turn::Part>& parts) {
  std::vector<Turn::Part> results;
  for (const Turn::Part& part : parts) {
    if (part.is_result) results.push_back(part);
  }
  std::stable_sort(results.begin(), results.end(),
                   [](const Turn::Part& a, const Turn::Part& b) { return a.order < b.order; });
  auto next = results.begin();
  for (Turn::Part& part : parts) {
    if (part.is_result) part = std::move(*next++);
  }
}

std::vector<Turn> group(std::vector<ChatMessage> messages) {
  std::vector<Turn> turns;
  std::vector<AssistantCall> calls;
  for (ChatMessage& message : messages) {
    if (!message.calls.empty()) calls = message.calls;
    const bool is_result = message.role == Role::kTool;
    if (!is_result && message.role != Role::kUser) {
      turns.push_back({.message = std::move(message), .parts = {}});
      continue;
    }
    const bool joins = !turns.empty() && turns.back().message.role == Role::kUser &&
                       turns.back().message.task.empty();
    if (!joins) turns.emplace_back();  // a user turn
    Turn& turn = turns.back();
    turn.message.task = std::move(message.task);
    const std::size_t order = is_result ? call_order(calls, message.call_id) : 0;
    if (is_result) message.content = "<tool_result>" + message.content + "</tool_result>";
    turn.parts.push_back({is_result, order, std::move(message.content)});
  }
  for (Turn& turn : turns) order_results(turn.parts);
  return turns;
}

class Renderer {
 public:
  Renderer(std::vector<Turn> turns, const ChatOptions& options)
      : turns_(std::move(turns)), options_(options) {
    const bool has_tools = std::any_of(
        turns_.begin(), turns_.end(), [](const Turn& turn) { return !turn.message.tools.empty(); });
    drops_thinking_ = options_.drop_thinking && !has_tools;
    find_last_asking();
    if (options_.thinking && drops_thinking_) drop_old_developers();
  }

  [[nodiscard]] Result<std::vector<PromptPiece>> render() {
    out_.control(kBeginToken);
    if (is_system(0) || options_.thinking) out_.control(kSystemToken);
    if (options_.thinking) {
      out_.text("Reasoning Effort: " + std::to_string(options_.reasoning_effort) +
                " (range 1-100, the higher the value, the more thorough the reasoning)\n\n");
    }
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      body(i);
      header(i);
    }
    if (options_.add_generation_prompt && !is_open_) {
      return fail_at("/messages", "the last message leaves the assistant nothing to answer");
    }
    return out_.take();
  }

 private:
  [[nodiscard]] const ChatMessage& at(std::size_t i) const { return turns_[i].message; }
  [[nodiscard]] bool is_system(std::size_t i) const {
    return i < turns_.size() && at(i).role == Role::kSystem;
  }
  // A turn that the assistant answers; the first system message is none.
  [[nodiscard]] bool is_asking(std::size_t i) const {
    const Role role = at(i).role;
    return role == Role::kUser || role == Role::kDeveloper || (role == Role::kSystem && i > 0);
  }
  void find_last_asking() {
    after_last_asking_ = 0;
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      if (is_asking(i)) after_last_asking_ = i + 1;
    }
  }
  void drop_old_developers() {
    std::vector<Turn> kept;
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      const bool is_old = i + 1 < after_last_asking_;
      if (at(i).role == Role::kDeveloper && is_old) continue;
      kept.push_back(std::move(turns_[i]));
    }
    turns_ = std::move(kept);
    find_last_asking();
  }

  void body(std::size_t i);
  void user_text(const Turn& turn);
  void instructions(const ChatMessage& message);
  void assistant(std::size_t i);
  void calls(const std::vector<AssistantCall>& calls);
  void header(std::size_t i);

  std::vector<Turn> turns_;
  ChatOptions options_;
  bool drops_thinking_ = false;
  std::size_t after_last_asking_ = 0;  // index behind the last asking turn
  bool is_open_ = false;               // the assistant's header stands, its answer does not
  PieceList out_;
};

void Renderer::body(std::size_t i) {
  const ChatMessage& message = at(i);
  if (message.role != Role::kLatestReminder) is_open_ = false;
  switch (message.role) {
    case Role::kSystem:
      if (i > 0) out_.control(kSystemToken);
      return instructions(message);
    case Role::kDeveloper:
      out_.control(kUserToken);
      return instructions(message);
    case Role::kLatestReminder:
      out_.control(kLatestReminderToken);
      return out_.text(message.content);
    case Role::kAssistant:
      return assistant(i);
    default:
      out_.control(kUserToken);
      return user_text(turns_[i]);
  }
}

void Renderer::user_text(const Turn& turn) {
  for (std::size_t i = 0; i < turn.parts.size(); ++i) {
    if (i > 0) out_.text("\n\n");
    out_.text(turn.parts[i].text);
  }
}

void Renderer::instructions(const ChatMessage& message) {
  out_.text(message.content);
  if (!message.tools.empty()) {
    const std::size_t mark = kToolsPromptTemplate.find(kSchemasMark);
    out_.text("\n\n");
    out_.own_text(kToolsPromptTemplate.substr(0, mark));
    for (std::size_t i = 0; i < message.tools.size(); ++i) {
      if (i > 0) out_.text("\n");
      out_.text(message.tools[i]);
    }
    out_.own_text(kToolsPromptTemplate.substr(mark + kSchemasMark.size()));
  }
  if (!message.response_format.empty()) {
    out_.text("\n\n## Response Format:\n\n");
    out_.text("You MUST strictly adhere to the following schema to reply:\n");
    out_.text(message.response_format);
  }
}

void Renderer::assistant(std::size_t i) {
  const ChatMessage& message = at(i);
  const bool follows_task = i > 0 && !at(i - 1).task.empty();
  const bool is_kept = !drops_thinking_ || i >= after_last_asking_;
  if (options_.thinking && is_kept && !follows_task) {
    out_.text(message.reasoning);
    out_.control(kThinkEndToken);
  }
  out_.text(message.content);
  if (!message.calls.empty()) calls(message.calls);
  out_.control(kEndToken);
}

void Renderer::calls(const std::vector<AssistantCall>& calls) {
  const auto tag = [&](std::string_view opening, const std::string& rest) {
    out_.text(opening);
    out_.control(kDsmlToken);
    out_.text(rest);
  };
  tag("\n\n<", " calls>\n");
  for (const AssistantCall& call : calls) {
    tag("<", " invoke name=\"" + call.name + "\">\n");
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const JsonMember& argument = call.arguments[i];
      const std::string is_string = argument.is_string ? "true" : "false";
      if (i > 0) out_.text("\n");
      tag("<", " parameter name=\"" + argument.key + "\" string=\"" + is_string + "\">");
      out_.text(argument.value);
      tag("</", " parameter>");
    }
    tag("\n</", " invoke>\n");
  }
  tag("</", " calls>");
}

void Renderer::header(std::size_t i) {
  const bool is_last = i + 1 == turns_.size();
  if (!is_asking(i) || (is_last && !options_.add_generation_prompt)) return;
  if (!is_last) {
    const Role next = at(i + 1).role;
    if (next != Role::kAssistant && next != Role::kLatestReminder) return;
  }
  is_open_ = true;
  const std::string& task = at(i).task;
  const std::string task_token = "<｜" + task + "｜>";
  if (!task.empty() && task != "action") return out_.control(task_token);
  out_.control(kAssistantToken);
  const bool thinks = options_.thinking && (!drops_thinking_ || i + 1 >= after_last_asking_);
  out_.control(thinks ? kThinkToken : kThinkEndToken);
  if (!task.empty()) out_.control(task_token);
}

// Tools and response format of the request belong to the system message in front.
Status attach(const ChatRequest& request, std::vector<ChatMessage>& messages) {
  std::vector<std::string> tools;
  std::string format;
  if (request.tools != nullptr) {
    DEEPINFER_TRY(tools, parse_tools(*request.tools, "/tools"));
  }
  if (request.response_format != nullptr) {
    DEEPINFER_TRY(format, parse_response_format(*request.response_format, "/response_format"));
  }
  if (tools.empty() && format.empty()) return Done{};
  if (messages.front().role != Role::kSystem) {
    ChatMessage system;
    system.role = Role::kSystem;
    messages.insert(messages.begin(), std::move(system));
  }
  ChatMessage& system = messages.front();
  system.tools.insert(system.tools.end(), tools.begin(), tools.end());
  if (!format.empty()) system.response_format = std::move(format);
  return Done{};
}

}  // namespace

Result<std::vector<PromptPiece>> render_chat(const ChatRequest& request) {
  const std::int64_t effort = request.options.reasoning_effort;
  if (effort < 1 || effort > 100) {
    return fail_at("/reasoning_effort", "must be 1 to 100, got " + std::to_string(effort));
  }
  if (request.messages == nullptr) return fail_at("/messages", "is missing");
  DEEPINFER_TRY(auto messages, parse_messages(*request.messages));
  DEEPINFER_TRY([[maybe_unused]] const auto attached, attach(request, messages));
  return Renderer(group(std::move(messages)), request.options).render();
}

Result<std::int64_t> parse_reasoning_effort(const Json& value) {
  if (value == "low") return std::int64_t{50};
  if (value == "high") return std::int64_t{75};
  if (value == "max") return std::int64_t{100};
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number >= 1 && number <= 100) return number;
  }
  return fail_at("/reasoning_effort", "must be low, high, max or an integer from 1 to 100");
}

std::string joined(const std::vector<PromptPiece>& pieces) {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

Result<std::vector<TokenId>> encode_pieces(const Tokenizer& tokenizer,
                                           const std::vector<PromptPiece>& pieces) {
  std::vector<TokenId> ids;
  for (const PromptPiece& piece : pieces) {
    if (piece.kind == PieceKind::kControl) {
      DEEPINFER_TRY(const auto id, tokenizer.added_token(piece.text));
      ids.push_back(id);
      continue;
    }
    DEEPINFER_TRY(const auto text, tokenizer.encode(piece.text, ControlTokens::kAsText));
    ids.insert(ids.end(), text.begin(), text.end());
  }
  return ids;
}

}  // namespace deepinfer::engine
