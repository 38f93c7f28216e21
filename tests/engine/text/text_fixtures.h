// Tokenizers and golden files for the tests of engine/text.
//
// Throws when a file is missing or damaged, which ends the test as failed. Each tokenizer is loaded
// once in a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/text/chat_template.h"
#include "engine/text/python_json.h"
#include "engine/text/tokenizer.h"

namespace deepinfer::test {

[[nodiscard]] std::string read_file(const std::filesystem::path& path);
[[nodiscard]] std::string read_gzip(const std::filesystem::path& path);
[[nodiscard]] std::vector<engine::Json> read_json_lines(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::int32_t> read_u32(const std::string& bytes);

// engine/checkpoint/assets, golden/tiny and examples/models/nano.
[[nodiscard]] const engine::Tokenizer& released_tokenizer();
[[nodiscard]] const engine::Tokenizer& tiny_tokenizer();
[[nodiscard]] const engine::Tokenizer& nano_tokenizer();
[[nodiscard]] std::filesystem::path asset_path(const std::string& name);

[[nodiscard]] std::vector<std::int64_t> numbers(const std::vector<TokenId>& ids);
[[nodiscard]] std::vector<TokenId> token_ids(const engine::Json& numbers);

// `file` of nano's held-out items, those that have prompt_ids.
[[nodiscard]] std::vector<engine::Json> nano_prompts();
[[nodiscard]] engine::ChatRequest request_of(const engine::Json& item);

}  // namespace deepinfer::test
