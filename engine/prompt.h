// The prompt of a request as token ids, checked against the vocabulary and the context.
//
// Threads:  const; any thread
// Errors:   RequestError: invalid_value, invalid_type, missing_field of a chat; token_out_of_range;
//           prompt_too_long
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <deepinfer/engine.h>

#include "base/ids.h"
#include "engine/model/shape.h"
#include "engine/text/tokenizer.h"

namespace deepinfer::engine {

class PromptEncoder {
 public:
  // max_context: tokens of prompt and answer together.
  PromptEncoder(const Tokenizer& tokenizer, const ModelShape& shape, std::int64_t max_context);

  using Encoded = std::variant<std::vector<TokenId>, RequestError>;
  [[nodiscard]] Encoded encode(const Request& request) const;

 private:
  [[nodiscard]] Encoded encode_text(const TextPrompt& prompt) const;
  [[nodiscard]] Encoded encode_ids(const TokenPrompt& prompt) const;
  [[nodiscard]] Encoded encode_chat(const ChatPrompt& prompt) const;
  [[nodiscard]] Encoded checked(std::vector<TokenId> ids) const;
  // Set when no encoding of so many bytes can fit: known without spending seconds on encoding them.
  [[nodiscard]] std::optional<RequestError> hopeless(std::size_t text_bytes) const;

  const Tokenizer& tokenizer_;
  const ModelShape& shape_;
  std::int64_t max_context_;
  std::int64_t longest_token_ = 1;  // bytes
};

}  // namespace deepinfer::engine
