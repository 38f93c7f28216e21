// The small trained model of examples/, its held-out items, and `deepinfer` with it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/client/temporary_folder.h"
#include "tests/e2e/program.h"

namespace deepinfer::e2e {

inline std::filesystem::path nano() {
  return std::filesystem::path(DEEPINFER_SOURCE_DIR) / "examples/models/nano";
}

// Every line of a held-out file.
inline std::vector<nlohmann::json> heldout(const std::string& name) {
  std::ifstream file(nano() / "heldout" / (name + ".jsonl"));
  std::vector<nlohmann::json> items;
  for (std::string line; std::getline(file, line);) items.push_back(nlohmann::json::parse(line));
  return items;
}

inline std::vector<nlohmann::json> records_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(file, line);) records.push_back(nlohmann::json::parse(line));
  return records;
}

class NanoTest : public ::testing::Test {
 protected:
  // deepinfer WORDS... --embedded --model NANO
  [[nodiscard]] Invocation command(std::vector<std::string> words) const {
    words.insert(words.begin(), DEEPINFER_PROGRAM);
    for (const std::string& word : {std::string("--embedded"), std::string("--model")}) {
      words.push_back(word);
    }
    words.push_back(nano().string());
    return {words, {}, RLIM_INFINITY};
  }
  [[nodiscard]] Invocation batch(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{
        "batch", folder / "in.jsonl", "-o", folder / "out.jsonl", "--progress", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return command(words);
  }
  void write_input(const std::string& text) const { write_file(folder / "in.jsonl", text); }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(folder / name);
  }

  TemporaryFolder folder;
};

}  // namespace deepinfer::e2e
