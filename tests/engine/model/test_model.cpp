#include "tests/engine/model/test_model.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace deepinfer::test {

TestSequence::TestSequence(const engine::CacheLayout& layout, std::int64_t max_tokens)
    : slot_(static_cast<std::size_t>(layout.slot_bytes)) {
  const std::int64_t count = (max_tokens + engine::kBlockTokens - 1) / engine::kBlockTokens;
  for (std::int64_t i = 0; i < count; ++i) {
    blocks_.emplace_back(static_cast<std::size_t>(layout.block_stride));
    block_pointers_.push_back(blocks_.back().data());
  }
}

engine::SequenceSlice TestSequence::next(const std::vector<TokenId>& tokens,
                                         std::int64_t logit_rows, std::int64_t look_back) {
  const std::size_t begin = tokens_.size();
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  const std::size_t known = std::min(begin, static_cast<std::size_t>(look_back));
  const std::span<const TokenId> all(tokens_);
  return {.tokens = all.subspan(begin),
          .before = all.subspan(begin - known, known),
          .begin = static_cast<std::int64_t>(begin),
          .slot = slot_.data(),
          .blocks = block_pointers_,
          .logit_rows = logit_rows};
}

TestModel::TestModel(const std::filesystem::path& folder, const Options& options) {
  EngineError error;
  model_ = engine::open_model(folder, error);
  if (model_ == nullptr) throw std::runtime_error(error.what + " (" + error.where + ")");
  layout_ = engine::cache_layout(shape());
  forward_ = std::make_unique<engine::Forward>(
      engine::Forward::Parts{.shape = shape(),
                             .weights = model_->weights,
                             .layout = layout_,
                             .token_map = model_->token_map,
                             .ops = options.ops,
                             .threads = options.threads,
                             .write_draft_state = options.write_draft_state});
}

std::vector<float> TestModel::run(std::span<const engine::SequenceSlice> slices,
                                  engine::StepObserver* observer) {
  std::int64_t rows = 0;
  for (const engine::SequenceSlice& slice : slices) rows += slice.logit_rows;
  std::vector<float> logits(static_cast<std::size_t>(rows * shape().vocabulary));
  const Status status = forward_->run(
      slices, kernels::View<float, 2>(logits.data(), rows, shape().vocabulary), observer);
  if (!status) throw std::runtime_error(status.error().message);
  return logits;
}

std::vector<float> TestModel::run(TestSequence& sequence, const std::vector<TokenId>& tokens,
                                  std::int64_t logit_rows, engine::StepObserver* observer) {
  const engine::SequenceSlice slice = sequence.next(tokens, logit_rows, look_back());
  return run(std::span<const engine::SequenceSlice>(&slice, 1), observer);
}

std::vector<TokenId> token_ids(const std::vector<std::int64_t>& ids) {
  std::vector<TokenId> tokens;
  tokens.reserve(ids.size());
  for (const std::int64_t id : ids) tokens.push_back(TokenId{static_cast<std::int32_t>(id)});
  return tokens;
}

std::int64_t best_of(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

Distance distance(std::span<const float> a, std::span<const float> b) {
  Distance result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double gap = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    result.mean += gap / static_cast<double>(a.size());
    result.largest = std::max(result.largest, gap);
  }
  return result;
}

double relative_l2(std::span<const float> a, std::span<const float> b) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double gap = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    error += gap * gap;
    norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(error / norm);
}

}  // namespace deepinfer::test
