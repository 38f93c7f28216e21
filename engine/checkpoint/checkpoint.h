// A checkpoint folder, memory-mapped and checked: sharded safetensors with an index, or one file.
//
// Opening checks every header, every tensor's name, type, shape and extent against the schema that
// config.json implies, and collects all problems. It reads headers only; weights are paged in when
// they are used and stay in their released precision.
//
// Threads:  open on one thread; find() from any thread afterwards.
// Lifetime: Tensors and everything built from them point into the mapping: the Checkpoint outlives
//           them.
// Cost:     opening the full model (96,085 tensors): under 5 s and 1 GB
// Source:   spec/model.md 3
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/checkpoint/problem.h"
#include "engine/checkpoint/schema.h"
#include "engine/checkpoint/tensor.h"
#include "engine/model/shape.h"

namespace deepinfer::engine {

class Checkpoint {
 public:
  struct Opened {
    std::unique_ptr<Checkpoint> checkpoint;  // set exactly when problems is empty
    Problems problems;
  };

  // Both spellings of names are accepted: an optional "model." prefix, and "weight_scale_inv" for
  // "scale". Copies of the embedding and head under mtp.N are ignored.
  [[nodiscard]] static Opened open(const std::filesystem::path& folder);

  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  ~Checkpoint();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept;
  [[nodiscard]] const ModelShape& shape() const noexcept;
  // By the schema's name; null when there is none.
  [[nodiscard]] const Tensor* find(std::string_view name) const;
  // One for each row of expected_tensors(shape()), in its order.
  [[nodiscard]] const std::vector<TensorSpec>& specs() const noexcept;

 private:
  struct Contents;
  explicit Checkpoint(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

}  // namespace deepinfer::engine
