#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/checkpoint/config_json.h"
#include "engine/checkpoint/schema_check.h"
#include "engine/checkpoint/shard_set.h"

namespace deepinfer::engine {
namespace {

bool is_aligned(const Tensor& tensor) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  return address % static_cast<std::uintptr_t>(element_bytes(tensor.type)) == 0;
}

}  // namespace

struct Checkpoint::Contents {
  std::filesystem::path folder;
  ModelShape shape;
  std::vector<TensorSpec> specs;
  std::vector<Shard> shards;                             // owns the mappings
  std::unordered_map<std::string_view, Tensor> tensors;  // keys are the specs' names
  std::vector<std::vector<std::uint8_t>> aligned_copies;
};

Checkpoint::Opened Checkpoint::open(const std::filesystem::path& folder) {
  Opened opened;
  ShapeOrProblems config = read_config(folder);
  ShardSet set = open_shards(folder);
  opened.problems = std::move(config.problems);
  opened.problems.insert(opened.problems.end(), set.problems.begin(), set.problems.end());
  if (!config.shape || set.unusable) return opened;

  std::vector<TensorSpec> specs = expected_tensors(*config.shape);
  SchemaMatch match = match_schema(specs, set);
  opened.problems.insert(opened.problems.end(), match.problems.begin(), match.problems.end());
  if (!opened.problems.empty()) return opened;

  auto contents = std::make_unique<Contents>();
  contents->folder = folder;
  contents->shape = *std::move(config.shape);
  contents->specs = std::move(specs);
  contents->shards = std::move(set.shards);
  contents->tensors.reserve(contents->specs.size());
  for (std::size_t i = 0; i < contents->specs.size(); ++i) {
    const TensorSpec& spec = contents->specs[i];
    Tensor tensor = *match.tensors[i];
    tensor.name = spec.name;
    // The format does not align tensors; loads of whole elements need it.
    if (!is_aligned(tensor)) {
      contents->aligned_copies.emplace_back(tensor.data, tensor.data + tensor.bytes);
      tensor.data = contents->aligned_copies.back().data();
    }
    contents->tensors.emplace(spec.name, std::move(tensor));
  }
  // Their names and shapes live on in `tensors`.
  for (Shard& shard : contents->shards) shard.tensors = {};
  opened.checkpoint.reset(new Checkpoint(std::move(contents)));
  return opened;
}

Checkpoint::Checkpoint(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
Checkpoint::~Checkpoint() = default;

const std::filesystem::path& Checkpoint::folder() const noexcept { return contents_->folder; }
const ModelShape& Checkpoint::shape() const noexcept { return contents_->shape; }
const std::vector<TensorSpec>& Checkpoint::specs() const noexcept { return contents_->specs; }

const Tensor* Checkpoint::find(std::string_view name) const {
  const auto found = contents_->tensors.find(name);
  return found == contents_->tensors.end() ? nullptr : &found->second;
}

}  // namespace deepinfer::engine
