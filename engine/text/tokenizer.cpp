#include "engine/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include "deepinfer_rust.h"
#include "engine/text/utf8.h"

namespace deepinfer::engine {
namespace {

constexpr std::size_t kErrorBytes = 512;  // serde and regex errors are a line or two

using ErrorText = std::array<char, kErrorBytes>;

Error error_of(std::int32_t code, const ErrorText& text) {
  if (code == DR_INTERNAL) return fail(ErrorCode::kInternal, text.data());
  if (code == DR_NOT_UTF8) return fail(ErrorCode::kDataLoss, text.data());
  return fail(ErrorCode::kInvalidArgument, text.data());
}

const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

std::uint32_t raw(TokenId id) { return static_cast<std::uint32_t>(value_of(id)); }

}  // namespace

struct Tokenizer::Contents {
  explicit Contents(dr_tokenizer* made) : handle(made) {}
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() { dr_tokenizer_free(handle); }

  dr_tokenizer* handle;
};

Tokenizer::Tokenizer(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);  // fails for a folder
  std::string json(error ? 0 : size, '\0');
  std::ifstream in(file, std::ios::binary);
  if (error || !in.read(json.data(), static_cast<std::streamsize>(size))) {
    return fail(ErrorCode::kInvalidArgument, "cannot read " + file.string());
  }
  Result<std::unique_ptr<Tokenizer>> parsed = parse(json);
  if (!parsed) return fail(parsed.error().code, file.string() + ": " + parsed.error().message);
  return parsed;
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::parse(std::string_view json) {
  ErrorText error{};
  dr_tokenizer* handle = nullptr;
  const std::int32_t code =
      dr_tokenizer_new(bytes_of(json), json.size(), &handle, error.data(), error.size());
  if (code != DR_OK) return error_of(code, error);
  // make_unique cannot: the constructor is private.
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::make_unique<Contents>(handle)));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, ControlTokens control) const {
  // A token is at least one byte, unless a normalizer of the file makes text longer.
  std::vector<std::uint32_t> ids(text.size());
  std::size_t count = 0;
  ErrorText error{};
  const auto run = [&] {
    return dr_tokenizer_encode(contents_->handle, bytes_of(text), text.size(),
                               control == ControlTokens::kRecognised, ids.data(), ids.size(),
                               &count, error.data(), error.size());
  };
  std::int32_t code = run();
  if (code == DR_OK && count > ids.size()) {
    ids.resize(count);
    code = run();
  }
  if (code != DR_OK) return error_of(code, error);

  std::vector<TokenId> tokens(count);
  std::transform(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), tokens.begin(),
                 [](std::uint32_t id) { return TokenId{static_cast<std::int32_t>(id)}; });
  return tokens;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, SpecialTokens special) const {
  std::vector<std::uint32_t> numbers(ids.size());
  std::transform(ids.begin(), ids.end(), numbers.begin(), raw);
  // Enough for most texts; the size that comes back says whether it was.
  std::string text(ids.size() * 8, '\0');
  std::size_t size = 0;
  ErrorText error{};
  const auto run = [&] {
    return dr_tokenizer_decode(contents_->handle, numbers.data(), numbers.size(),
                               special == SpecialTokens::kSkip, text.data(), text.size(), &size,
                               error.data(), error.size());
  };
  std::int32_t code = run();
  const bool is_short = code == DR_OK && size > text.size();
  text.resize(size);
  if (is_short) code = run();
  if (code != DR_OK) return error_of(code, error);
  return text;
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  std::size_t size = 0;
  const std::uint8_t* bytes = dr_tokenizer_token_bytes(contents_->handle, raw(id), &size);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), size};
}

bool Tokenizer::is_special(TokenId id) const {
  return dr_tokenizer_is_special(contents_->handle, raw(id));
}

Result<TokenId> Tokenizer::added_token(std::string_view spelling) const {
  std::uint32_t id = 0;
  ErrorText error{};
  const std::int32_t code = dr_tokenizer_added_token(
      contents_->handle, bytes_of(spelling), spelling.size(), &id, error.data(), error.size());
  if (code != DR_OK) return fail(ErrorCode::kInvalidArgument, error.data());
  return TokenId{static_cast<std::int32_t>(id)};
}

std::int64_t Tokenizer::vocabulary() const {
  return static_cast<std::int64_t>(dr_tokenizer_vocabulary(contents_->handle));
}

std::vector<std::int32_t> Tokenizer::engram_map() const {
  std::vector<std::int32_t> map(static_cast<std::size_t>(vocabulary()));
  std::size_t count = 0;
  const std::int32_t code =
      dr_tokenizer_engram_map(contents_->handle, map.data(), map.size(), &count, nullptr, 0);
  // It has no input that could be wrong: one id for each token, or a bug of ours.
  if (code != DR_OK || count != map.size()) std::abort();
  return map;
}

TextStream::TextStream(const Tokenizer& tokenizer, SpecialTokens special)
    : tokenizer_(tokenizer), special_(special) {}

std::string TextStream::push(TokenId id) {
  std::string text;
  if (special_ == SpecialTokens::kSkip && tokenizer_.is_special(id)) return text;
  waiting_ += tokenizer_.token_bytes(id);
  waiting_ = std::string(append_characters(waiting_, text));
  return text;
}

std::string TextStream::finish() {
  const bool is_waiting = !waiting_.empty();
  waiting_.clear();
  return is_waiting ? std::string(kReplacementCharacter) : std::string();
}

}  // namespace deepinfer::engine
