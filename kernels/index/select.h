// The parts of select_latents that its two implementations share; first of all, what keeps the best
// of a stream of scored positions.
//
// Order:    greater score first, ties to the lower position; NaN counts as -infinity
// Threads:  confined to one thread
// Cost:     one comparison per score; allocates once, in the constructor
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/index/select_latents.h"

namespace deepinfer::kernels {

struct ScoredPosition {
  float score = 0.0F;
  std::int32_t position = 0;
};

class BestPositions {
 public:
  explicit BestPositions(std::int64_t count);

  // Every position at most once between two calls of write.
  void add(float score, std::int32_t position);

  // The best `count`, ascending, -1 padded; then starts anew.
  void write(std::int32_t* positions);

 private:
  void keep_best();

  std::size_t count_;
  std::vector<ScoredPosition> entries_;
  ScoredPosition bar_;  // the worst of the best so far
  bool has_bar_ = false;
};

// The query of a row and the keys that it is scored against.
struct ScoreKeys {
  const float* turned;  // [n, padded]
  const float* a;       // [padded]
  std::int64_t padded;
  std::int64_t heads;
  std::int64_t n;
  const float* const* keys;
  std::int64_t count;
  float* products;  // [count, padded]
  float* scores;    // [count]
};

// What a row of select_latents needs beyond its scores, and what follows without any.
struct RowPlan {
  bool scores_all = false;      // every visible latent must be scored
  bool scores_allowed = false;  // only the latents of the candidate blocks
};
[[nodiscard]] RowPlan plan_row(const SelectLatentsArgs& args, std::int64_t row);

// Writes what the plan of a row leaves to be known without scores: everything is selected, every
// block is a candidate.
void write_unscored(const SelectLatentsArgs& args, std::int64_t row);

// The outputs of a row that were scored; scores [visible].
void write_scored(const SelectLatentsArgs& args, std::int64_t row, const float* scores);

// Codes and scales of an index key.
struct IndexKey {
  const std::uint8_t* codes;
  const std::uint8_t* scales;
};
[[nodiscard]] IndexKey index_key(const SelectLatentsArgs& args, std::int64_t row, std::int64_t j);

}  // namespace deepinfer::kernels
