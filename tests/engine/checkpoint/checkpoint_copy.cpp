#include "tests/engine/checkpoint/checkpoint_copy.h"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "tests/engine/checkpoint/small_file.h"
#include "tests/support/golden_file.h"

namespace deepinfer::test {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

std::string file_text(const CopiedShard& shard) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : shard.tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  return length_bytes(text.size()) + text + data;
}

}  // namespace

CheckpointCopy::CheckpointCopy() {
  for (const char* file :
       {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}) {
    const GoldenFile golden(data_path(std::string("golden/tiny/") + file));
    for (const std::string& name : golden.names()) {
      const std::vector<std::uint8_t> bytes = golden.bytes(name);
      shards[file].tensors[name] = {golden.dtype(name), golden.shape(name),
                                    std::string(bytes.begin(), bytes.end())};
    }
  }
  config = nlohmann::json::parse(read_file(data_path("golden/tiny/config.json")));
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) {
    small_files[file] = read_file(data_path(std::string("golden/tiny/") + file));
  }
}

CopiedTensor& CheckpointCopy::tensor(const std::string& name) {
  for (auto& [file, shard] : shards) {
    const auto found = shard.tensors.find(name);
    if (found != shard.tensors.end()) return found->second;
  }
  throw std::runtime_error("no tensor " + name);
}

void CheckpointCopy::erase(const std::string& name) {
  for (auto& [file, shard] : shards) shard.tensors.erase(name);
}

void CheckpointCopy::rename(const std::string& from, const std::string& to) {
  for (auto& [file, shard] : shards) {
    auto node = shard.tensors.extract(from);
    if (node.empty()) continue;
    node.key() = to;
    shard.tensors.insert(std::move(node));
  }
}

void CheckpointCopy::write(const std::filesystem::path& folder) const {
  nlohmann::json index;
  std::size_t total = 0;
  for (const auto& [file, shard] : shards) {
    write_file(folder / file, file_text(shard));
    for (const auto& [name, tensor] : shard.tensors) {
      index["weight_map"][name] = file;
      total += tensor.bytes.size();
    }
  }
  index["metadata"]["total_size"] = total;
  write_file(folder / kIndex, index.dump());
  write_file(folder / "config.json", config.dump());
  for (const auto& [file, text] : small_files) write_file(folder / file, text);
}

void edit_index(const std::filesystem::path& folder,
                const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json index = nlohmann::json::parse(read_file(folder / kIndex));
  change(index);
  write_file(folder / kIndex, index.dump());
}

}  // namespace deepinfer::test
