#include "engine/checkpoint/layer_roles.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace deepinfer::engine {
namespace {

constexpr ConfigKey kRatios{ConfigSection::kText, "compress_ratios", "compress_ratios"};
constexpr ConfigKey kKvSources{ConfigSection::kText, "kv_source_layer_ids", "kv_source_layers"};
constexpr ConfigKey kIndexSources{ConfigSection::kText, "index_source_layer_ids",
                                  "index_source_layers"};
constexpr ConfigKey kIndexKeySources{ConfigSection::kText, "index_k_source_layer_ids", ""};
constexpr ConfigKey kCandidateSource{ConfigSection::kText, "candidate_source_layer_id",
                                     "candidate_source_layer"};
constexpr ConfigKey kEngramLayers{ConfigSection::kText, "engram_layer_ids", "engram_layer_ids"};
constexpr ConfigKey kDraftTargets{ConfigSection::kText, "dspark_target_layer_ids",
                                  "dspark_target_layer_ids"};

bool holds(const std::vector<std::int64_t>& list, std::int64_t layer) {
  return std::find(list.begin(), list.end(), layer) != list.end();
}

// The last entry up to `layer`; -1: none.
std::int64_t latest(const std::vector<std::int64_t>& ascending, std::int64_t layer) {
  std::int64_t found = -1;
  for (const std::int64_t entry : ascending) {
    if (entry <= layer) found = entry;
  }
  return found;
}

std::vector<std::int64_t> ascending_layers(ConfigReader& reader, const ConfigKey& key,
                                           std::int64_t layers, bool required) {
  std::vector<std::int64_t> list =
      reader.integers(key, {.min = 0, .max = layers - 1, .otherwise = {}}, required);
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[i - 1] < list[i]) continue;
    reader.report(key, "must ascend, has " + std::to_string(list[i]) + " after " +
                           std::to_string(list[i - 1]));
    return {};
  }
  return list;
}

class RoleBuilder {
 public:
  RoleBuilder(ConfigReader& reader, const RoleLists& lists) : reader_(reader), lists_(lists) {}

  std::vector<LayerRole> build(std::int64_t layers, std::int64_t draft_layers) {
    if (!check_ratios(layers, draft_layers)) return {};
    for (std::int64_t layer = 0; layer < layers; ++layer) roles_.push_back(simple_role(layer));
    for (std::int64_t layer = 0; layer < layers; ++layer) add_sources(layer);
    check_candidate_source();
    return std::move(roles_);
  }

 private:
  bool check_ratios(std::int64_t layers, std::int64_t draft_layers) {
    const auto count = static_cast<std::int64_t>(lists_.compress_ratios.size());
    if (count < layers || count > layers + draft_layers) {
      reader_.report(kRatios, "must have an entry for each of the " + std::to_string(layers) +
                                  " layers and at most " + std::to_string(draft_layers) +
                                  " for the draft layers, has " + std::to_string(count));
      return false;
    }
    for (std::int64_t i = layers; i < count; ++i) {
      if (lists_.compress_ratios[static_cast<std::size_t>(i)] == 0) continue;
      reader_.report(kRatios,
                     "draft layers have ratio 0, entry " + std::to_string(i) + " is " +
                         std::to_string(lists_.compress_ratios[static_cast<std::size_t>(i)]));
    }
    return true;
  }

  LayerRole simple_role(std::int64_t layer) {
    return {.compress_ratio = lists_.compress_ratios[static_cast<std::size_t>(layer)],
            .owns_kv = holds(lists_.kv_sources, layer),
            .owns_index = holds(lists_.index_sources, layer),
            .is_candidate_source = lists_.candidate_source == layer,
            .has_engram = holds(lists_.engram_layers, layer),
            .is_draft_target = holds(lists_.draft_targets, layer)};
  }

  LayerRole& role(std::int64_t layer) { return roles_[static_cast<std::size_t>(layer)]; }

  void add_sources(std::int64_t layer) {
    LayerRole& own = role(layer);
    const std::string name = "layer " + std::to_string(layer);
    if (own.compress_ratio == 0) {
      if (own.owns_kv) reader_.report(kKvSources, name + " has ratio 0, it cannot be a KV source");
      if (own.owns_index) {
        reader_.report(kIndexSources, name + " has ratio 0, it cannot be an index source");
      }
      return;
    }
    own.kv_source = latest(lists_.kv_sources, layer);
    own.index_source = latest(lists_.index_sources, layer);
    if (own.kv_source < 0) {
      reader_.report(kKvSources, name + " has ratio " + std::to_string(own.compress_ratio) +
                                     " and no KV source up to it");
      return;
    }
    if (role(own.kv_source).compress_ratio != own.compress_ratio) {
      reader_.report(kRatios, name + " has ratio " + std::to_string(own.compress_ratio) +
                                  ", its KV source " + std::to_string(own.kv_source) + " has " +
                                  std::to_string(role(own.kv_source).compress_ratio));
    }
    if (own.owns_kv && !own.owns_index) {
      reader_.report(kIndexSources, name + " is a KV source, it must be an index source too");
      return;
    }
    // A selection counts entries of one KV source; it cannot come from before that source.
    if (own.index_source < own.kv_source) {
      reader_.report(kIndexSources, name + " has no index source from its KV source " +
                                        std::to_string(own.kv_source) + " on");
    }
    own.uses_candidates = own.owns_index && !own.owns_kv && lists_.candidate_source.has_value() &&
                          own.kv_source == *lists_.candidate_source;
  }

  void check_candidate_source() {
    if (!lists_.candidate_source) return;
    const LayerRole& source = role(*lists_.candidate_source);
    if (source.owns_kv && source.owns_index) return;
    reader_.report(kCandidateSource, "layer " + std::to_string(*lists_.candidate_source) +
                                         " must be a KV source and an index source");
  }

  ConfigReader& reader_;
  const RoleLists& lists_;
  std::vector<LayerRole> roles_;
};

}  // namespace

RoleLists read_role_lists(ConfigReader& reader, std::int64_t layers) {
  RoleLists lists;
  constexpr std::int64_t kMaxRatio = 2;  // what the compressor kernels pool
  lists.compress_ratios =
      reader.integers(kRatios, {.min = 0, .max = kMaxRatio, .otherwise = {}}, /*required=*/true);
  lists.kv_sources = ascending_layers(reader, kKvSources, layers, /*required=*/true);
  lists.index_sources = ascending_layers(reader, kIndexSources, layers, /*required=*/true);
  lists.engram_layers = ascending_layers(reader, kEngramLayers, layers, /*required=*/false);
  lists.draft_targets = ascending_layers(reader, kDraftTargets, layers, /*required=*/false);
  const std::int64_t candidate =
      reader.integer(kCandidateSource, {.min = -1, .max = layers - 1, .otherwise = -1});
  if (candidate >= 0) lists.candidate_source = candidate;
  if (reader.has(kIndexKeySources) &&
      ascending_layers(reader, kIndexKeySources, layers, /*required=*/true) != lists.kv_sources) {
    reader.report(kIndexKeySources, "must equal kv_source_layer_ids");
  }
  return lists;
}

std::vector<LayerRole> derive_roles(ConfigReader& reader, const RoleLists& lists,
                                    std::int64_t layers, std::int64_t draft_layers) {
  return RoleBuilder(reader, lists).build(layers, draft_layers);
}

}  // namespace deepinfer::engine
