// A chat (messages, tools, response format, thinking) -> the prompt the model was trained on.
//
// The prompt is a list of pieces: control tokens by their spelling, and ordinary text between them.
// Text that a user wrote never becomes a control token, whatever it spells. Images are refused. A
// message has OpenAI's fields, `reasoning_content`, and those of the prompt format: `tools` and
// `response_format` (system, developer), `task` (user). An unknown field is an error.
//
// Errors:   kInvalidArgument with a JSON pointer into the request: "/messages/2/role: ..."
// Threads:  pure functions
// Source:   spec/model.md 9.2; tests/data/prompts
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/text/python_json.h"
#include "engine/text/tokenizer.h"

namespace deepinfer::engine {

enum class PieceKind : std::uint8_t { kControl, kText };

struct PromptPiece {
  PieceKind kind = PieceKind::kText;
  std::string text;
  friend bool operator==(const PromptPiece&, const PromptPiece&) = default;
};

struct ChatOptions {
  bool thinking = true;
  std::int64_t reasoning_effort = 75;  // 1 .. 100; low 50, high 75, max 100
  bool drop_thinking = true;           // of turns before the last user turn
  bool add_generation_prompt = true;
};

// `messages` is an array; `tools` an array or null; `response_format` the bare schema or null.
// Keys keep their order, which is part of the prompt: nlohmann::ordered_json.
struct ChatRequest {
  const Json* messages = nullptr;
  const Json* tools = nullptr;
  const Json* response_format = nullptr;
  ChatOptions options;
};

// Neighbouring text is one piece, so that encoding it piece by piece is exact.
[[nodiscard]] Result<std::vector<PromptPiece>> render_chat(const ChatRequest& request);
// "low", "high", "max" or an integer from 1 to 100.
[[nodiscard]] Result<std::int64_t> parse_reasoning_effort(const Json& value);

[[nodiscard]] std::string joined(const std::vector<PromptPiece>& pieces);
[[nodiscard]] Result<std::vector<TokenId>> encode_pieces(const Tokenizer& tokenizer,
                                                         const std::vector<PromptPiece>& pieces);

}  // namespace deepinfer::engine
