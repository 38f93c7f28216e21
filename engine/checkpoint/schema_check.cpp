#include "engine/checkpoint/schema_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

namespace deepinfer::engine {
namespace {

constexpr const char* kMatchingConfig =
    "use weights and config.json of the same model, in the released format";

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

bool is_draft_copy(std::string_view name) {
  if (!name.starts_with("mtp.")) return false;
  name.remove_prefix(4);
  name.remove_prefix(std::min(name.find('.'), name.size()));
  return name == ".embed.weight" || name == ".head.weight";
}

std::string mend_for(std::string_view name) {
  const bool separate_norm =
      name.find("hc_") != std::string_view::npos && name.ends_with("_norm.weight");
  return separate_norm ? "fold the norm into its hc_*_fn, as the released files have it"
                       : kMatchingConfig;
}

class SchemaMatcher {
 public:
  explicit SchemaMatcher(const ShardSet& set) : set_(set) {
    for (const std::string& name : set.lost) lost_.insert(released_name(name));
  }

  SchemaMatch match(const std::vector<TensorSpec>& specs) {
    collect(specs.size());
    match_.tensors.reserve(specs.size());
    for (const TensorSpec& spec : specs) match_.tensors.push_back(match_one(spec));
    for (const Shard& shard : set_.shards) {
      for (const Tensor& tensor : shard.tensors) report_if_unwanted(shard, tensor);
    }
    return std::move(match_);
  }

 private:
  // Where a tensor lies.
  struct Found {
    const Tensor* tensor = nullptr;
    const Shard* shard = nullptr;
    bool wanted = false;
  };

  void report(std::string where, std::string what, std::string mend) {
    match_.problems.push_back({std::move(where), std::move(what), std::move(mend)});
  }

  void collect(std::size_t expected) {
    found_.reserve(expected);
    for (const Shard& shard : set_.shards) {
      for (const Tensor& tensor : shard.tensors) {
        std::string name = released_name(tensor.name);
        if (name.empty()) continue;
        const auto [place, is_new] = found_.try_emplace(std::move(name), Found{&tensor, &shard});
        if (is_new) continue;
        report(shard.file + ": " + tensor.name,
               "the tensor is already in " + place->second.shard->file + " as " +
                   place->second.tensor->name,
               "keep one of the two");
      }
    }
  }

  const Tensor* match_one(const TensorSpec& spec) {
    const auto place = found_.find(spec.name);
    if (place == found_.end()) {
      if (lost_.count(spec.name) == 0) {
        report(spec.name, "the tensor is missing", kMatchingConfig);
      }
      return nullptr;
    }
    place->second.wanted = true;
    const Tensor& tensor = *place->second.tensor;
    if (tensor.type == spec.type && tensor.shape == spec.shape) return &tensor;
    report(place->second.shard->file + ": " + tensor.name,
           "config.json implies " + std::string(name_of(spec.type)) + " " + text_of(spec.shape) +
               ", the file has " + std::string(name_of(tensor.type)) + " " + text_of(tensor.shape),
           kMatchingConfig);
    return nullptr;
  }

  void report_if_unwanted(const Shard& shard, const Tensor& tensor) {
    const auto place = found_.find(released_name(tensor.name));
    if (place == found_.end() || place->second.wanted || place->second.tensor != &tensor) return;
    report(shard.file + ": " + tensor.name, "config.json implies no such tensor",
           mend_for(place->first));
  }

  const ShardSet& set_;
  std::set<std::string> lost_;
  std::unordered_map<std::string, Found> found_;
  SchemaMatch match_;
};

}  // namespace

std::string released_name(std::string_view stored) {
  constexpr std::string_view kPrefix = "model.";
  constexpr std::string_view kScaleAlias = ".weight_scale_inv";
  std::string_view name = stored;
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (is_draft_copy(name)) return {};
  if (!name.ends_with(kScaleAlias)) return std::string(name);
  name.remove_suffix(kScaleAlias.size());
  return std::string(name) + ".scale";
}

SchemaMatch match_schema(const std::vector<TensorSpec>& specs, const ShardSet& set) {
  return SchemaMatcher(set).match(specs);
}

}  // namespace deepinfer::engine
