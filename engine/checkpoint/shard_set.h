// The weight files of a folder: which there are, what each holds, and whether they agree with the
// index.
//
// Knows nothing of the model: names and types are as stored. Checkpoint compares them with the
// schema; deepinfer-model verify reads the data of whatever is sound.
//
// Threads:  open on one thread; read from any thread afterwards.
// Lifetime: the tensors point into the mapped files.
// Errors:   problems: missing, unreadable and damaged files, an index that is wrong about them
// Source:   spec/model.md 3
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "engine/checkpoint/mapped_file.h"
#include "engine/checkpoint/problem.h"
#include "engine/checkpoint/tensor.h"

namespace deepinfer::engine {

struct Shard {
  std::string file;  // name inside the folder
  MappedFile mapping;
  std::vector<Tensor> tensors;  // in the order of their bytes
};

struct ShardSet {
  std::vector<Shard> shards;  // in the order of their names; only those that could be mapped
  Problems problems;
  // Names that the index places in files which are missing or unreadable: reported once per file.
  std::set<std::string> lost;
  // No file says which tensors there should be: reporting each as missing would bury the cause.
  bool unusable = false;
};

[[nodiscard]] ShardSet open_shards(const std::filesystem::path& folder);

}  // namespace deepinfer::engine
