// The attention role of every backbone layer, from the lists of config.json.
//
// A layer reads the global entries of the latest KV source up to itself and the selection of the
// latest index source up to itself.
//
// Errors:   problems; the roles are of use only when there are none
// Source:   spec/model.md 1 (table of roles), 2
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/checkpoint/config_reader.h"
#include "engine/model/shape.h"

namespace deepinfer::engine {

struct RoleLists {
  std::vector<std::int64_t> compress_ratios;  // [layers], or with draft layers behind them
  std::vector<std::int64_t> kv_sources;
  std::vector<std::int64_t> index_sources;
  std::optional<std::int64_t> candidate_source;
  std::vector<std::int64_t> engram_layers;
  std::vector<std::int64_t> draft_targets;
};

[[nodiscard]] RoleLists read_role_lists(ConfigReader& reader, std::int64_t layers);
// `draft_layers`: ratios past the backbone are theirs and must be 0.
[[nodiscard]] std::vector<LayerRole> derive_roles(ConfigReader& reader, const RoleLists& lists,
                                                  std::int64_t layers, std::int64_t draft_layers);

}  // namespace deepinfer::engine
