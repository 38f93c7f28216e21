// A checkpoint with its forward pass, driven sequence by sequence: what the model tests share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/kv/cache_layout.h"
#include "engine/model/forward.h"
#include "engine/open_model.h"

namespace deepinfer::test {

// The state of one sequence: tokens so far, slot, blocks; all of it owned here.
class TestSequence {
 public:
  TestSequence(const engine::CacheLayout& layout, std::int64_t max_tokens);

  // A slice that runs `tokens` next. Valid until the next call.
  [[nodiscard]] engine::SequenceSlice next(const std::vector<TokenId>& tokens,
                                           std::int64_t logit_rows, std::int64_t look_back);
  [[nodiscard]] std::uint8_t* slot() { return slot_.data(); }
  [[nodiscard]] const std::vector<std::uint8_t*>& blocks() const { return block_pointers_; }
  [[nodiscard]] std::int64_t length() const { return static_cast<std::int64_t>(tokens_.size()); }

 private:
  std::vector<TokenId> tokens_;
  std::vector<std::uint8_t> slot_;
  std::vector<std::vector<std::uint8_t>> blocks_;
  std::vector<std::uint8_t*> block_pointers_;
};

class TestModel {
 public:
  struct Options {
    engine::Ops ops = engine::fast_ops();
    int threads = 1;
    bool write_draft_state = false;
  };
  // Throws when the checkpoint cannot be opened, which ends the test as failed.
  explicit TestModel(const std::filesystem::path& folder) : TestModel(folder, Options{}) {}
  TestModel(const std::filesystem::path& folder, const Options& options);

  [[nodiscard]] const engine::ModelShape& shape() const { return model_->checkpoint->shape(); }
  [[nodiscard]] const engine::CacheLayout& layout() const { return layout_; }
  [[nodiscard]] const engine::OpenModel& parts() const { return *model_; }
  [[nodiscard]] engine::Forward& forward() { return *forward_; }
  [[nodiscard]] std::int64_t look_back() const { return shape().engram.max_ngram - 1; }

  [[nodiscard]] TestSequence sequence() const { return {layout_, shape().max_positions}; }
  // Runs slices as one step and returns their logits, row after row.
  [[nodiscard]] std::vector<float> run(std::span<const engine::SequenceSlice> slices,
                                       engine::StepObserver* observer = nullptr);
  // Runs `tokens` as the next part of one sequence; logits of the last `logit_rows` rows.
  [[nodiscard]] std::vector<float> run(TestSequence& sequence, const std::vector<TokenId>& tokens,
                                       std::int64_t logit_rows,
                                       engine::StepObserver* observer = nullptr);

 private:
  std::unique_ptr<engine::OpenModel> model_;
  engine::CacheLayout layout_;
  std::unique_ptr<engine::Forward> forward_;
};

[[nodiscard]] std::vector<TokenId> token_ids(const std::vector<std::int64_t>& ids);
[[nodiscard]] std::int64_t best_of(std::span<const float> logits);

// How far two rows of logits are apart.
struct Distance {
  double mean = 0;
  double largest = 0;
};
[[nodiscard]] Distance distance(std::span<const float> a, std::span<const float> b);
// ||a - b|| / ||b||
[[nodiscard]] double relative_l2(std::span<const float> a, std::span<const float> b);

}  // namespace deepinfer::test
