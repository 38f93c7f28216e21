// A copy of the golden tiny checkpoint that a test may damage before it is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace deepinfer::test {

struct CopiedTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

struct CopiedShard {
  std::map<std::string, CopiedTensor> tensors;
};

class CheckpointCopy {
 public:
  CheckpointCopy();  // of tests/data/golden/tiny

  nlohmann::json config;
  std::map<std::string, CopiedShard> shards;       // by file name
  std::map<std::string, std::string> small_files;  // tokenizer.json, ...

  // The tensor, wherever it lies.
  CopiedTensor& tensor(const std::string& name);
  void erase(const std::string& name);
  void rename(const std::string& from, const std::string& to);

  // Shards, an index that matches them, config.json and the small files.
  void write(const std::filesystem::path& folder) const;
};

// Changes the text of a written index.
void edit_index(const std::filesystem::path& folder,
                const std::function<void(nlohmann::json&)>& change);

}  // namespace deepinfer::test
