#include "tests/engine/text/text_fixtures.h"

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <zlib.h>

#include "tests/support/golden_file.h"

namespace deepinfer::test {
namespace {

std::unique_ptr<engine::Tokenizer> must_parse(const std::string& json) {
  Result<std::unique_ptr<engine::Tokenizer>> tokenizer = engine::Tokenizer::parse(json);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return *std::move(tokenizer);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string read_gzip(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) throw std::runtime_error("cannot open " + path.string());
  std::string out;
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const int count = gzread(file.get(), buffer.data(), buffer.size());
    if (count < 0) throw std::runtime_error("damaged " + path.string());
    if (count == 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

std::vector<engine::Json> read_json_lines(const std::filesystem::path& path) {
  std::istringstream in(read_file(path));
  std::vector<engine::Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(engine::Json::parse(line));
  if (lines.empty()) throw std::runtime_error("empty " + path.string());
  return lines;
}

std::vector<std::int32_t> read_u32(const std::string& bytes) {
  std::vector<std::int32_t> values(bytes.size() / sizeof(std::int32_t));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(std::int32_t));
  return values;
}

std::filesystem::path asset_path(const std::string& name) {
  return std::filesystem::path(DEEPINFER_SOURCE_DIR) / "engine/checkpoint/assets" / name;
}

const engine::Tokenizer& released_tokenizer() {
  static const auto tokenizer = must_parse(read_gzip(asset_path("tokenizer.json.gz")));
  return *tokenizer;
}

const engine::Tokenizer& tiny_tokenizer() {
  static const auto tokenizer = must_parse(read_file(data_path("golden/tiny/tokenizer.json")));
  return *tokenizer;
}

const engine::Tokenizer& nano_tokenizer() {
  static const auto tokenizer = must_parse(read_file(model_path("nano/tokenizer.json")));
  return *tokenizer;
}

std::vector<std::int64_t> numbers(const std::vector<TokenId>& ids) {
  std::vector<std::int64_t> out;
  out.reserve(ids.size());
  for (const TokenId id : ids) out.push_back(value_of(id));
  return out;
}

std::vector<TokenId> token_ids(const engine::Json& numbers) {
  std::vector<TokenId> out;
  for (const engine::Json& number : numbers) out.push_back(TokenId{number.get<std::int32_t>()});
  return out;
}

std::vector<engine::Json> nano_prompts() {
  std::vector<engine::Json> prompts;
  for (const char* kind : {"copy", "extraction", "extraction_list", "lookup", "qa", "tools"}) {
    const std::string name = "nano/heldout/" + std::string(kind) + ".jsonl";
    for (engine::Json& item : read_json_lines(model_path(name))) {
      if (item.contains("prompt_ids")) prompts.push_back(std::move(item));
    }
  }
  return prompts;
}

engine::ChatRequest request_of(const engine::Json& item) {
  engine::ChatRequest request;
  request.messages = &item.at("messages");
  if (item.contains("tools")) request.tools = &item.at("tools");
  if (item.contains("response_format")) request.response_format = &item.at("response_format");
  return request;
}

}  // namespace deepinfer::test
