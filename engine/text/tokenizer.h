// Text <-> token ids, by the checkpoint's tokenizer.json.
//
// Threads:  const members from any thread at once.
// Cost:     loading 0.25 s and 64 MB for the released vocabulary; encoding 2 to 3 MB/s per thread
// Errors:   kInvalidArgument when tokenizer.json cannot be used; kDataLoss when text is not UTF-8
// Source:   spec/model.md 9.1; the Rust crate `tokenizers` behind third_party/rust
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace deepinfer::engine {

// Whether spellings of added tokens in a text become those tokens or stay ordinary text.
enum class ControlTokens : std::uint8_t { kRecognised, kAsText };
enum class SpecialTokens : std::uint8_t { kKeep, kSkip };

class Tokenizer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Tokenizer>> load(const std::filesystem::path& file);
  [[nodiscard]] static Result<std::unique_ptr<Tokenizer>> parse(std::string_view json);

  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer();

  // No BOS is added.
  [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text,
                                                    ControlTokens control) const;
  // Bytes that are not UTF-8 become U+FFFD. Ids out of range: kInvalidArgument.
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids,
                                           SpecialTokens special) const;
  // The bytes that a token stands for; an added token gives its spelling.
  [[nodiscard]] std::string_view token_bytes(TokenId id) const;
  // What skip_special_tokens leaves out: the tokens that tokenizer.json calls special. The released
  // file does so for begin, end, padding, <｜System｜>, placeholders, <think>, </think> and ｜DSML｜,
  // but not for <｜User｜>, <｜Assistant｜> and the old tool marks. Answers are parsed from kKeep.
  [[nodiscard]] bool is_special(TokenId id) const;
  // The id of an added token by its exact spelling; kInvalidArgument when there is none.
  [[nodiscard]] Result<TokenId> added_token(std::string_view spelling) const;
  [[nodiscard]] std::int64_t vocabulary() const;

  // Token id -> compressed id for the Engram hash (spec 7.1), one for each token.
  [[nodiscard]] std::vector<std::int32_t> engram_map() const;

 private:
  struct Contents;
  explicit Tokenizer(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

// The text of a growing sequence, in pieces that never end inside a UTF-8 character.
//
// Bytes that may still become a character wait; bytes that no longer can become U+FFFD.
// Threads:  confined to one thread. Lifetime: the Tokenizer outlives it.
class TextStream {
 public:
  TextStream(const Tokenizer& tokenizer, SpecialTokens special);

  // The text that `id` completes; empty while bytes wait.
  [[nodiscard]] std::string push(TokenId id);
  // What waits, as U+FFFD; the stream is empty afterwards.
  [[nodiscard]] std::string finish();

 private:
  const Tokenizer& tokenizer_;
  SpecialTokens special_;
  std::string waiting_;  // at most 3 bytes: the beginning of one character
};

}  // namespace deepinfer::engine
