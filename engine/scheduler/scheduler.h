// Decides what runs in the next step: which sequences, how many tokens of each, who makes room.
//
// Continuous batching: every running sequence first gets its next token, then prompt chunks fill
// the token budget, then waiting sequences are admitted. Rank is (priority, arrival); when blocks
// run out, the lowest rank is preempted and computes again later. The highest rank always advances,
// so nothing starves and nothing deadlocks as long as each sequence fits alone.
//
// Pure: no device, no clock, no thread. It counts blocks; the engine holds them.
//
// Units:    tokens; blocks of kBlockTokens positions
// Threads:  confined to the engine thread
// Cost:     O(running + admitted) per plan
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace deepinfer::engine {

// A sequence as the scheduler knows it: one choice of one request.
enum class SequenceKey : std::uint64_t {};

class Scheduler {
 public:
  struct Options {
    std::int64_t max_sequences = 256;      // running at once; >= 1
    std::int64_t max_batch_tokens = 4096;  // tokens of one step; >= max_sequences
    std::int64_t prefill_chunk = 512;      // most tokens of one sequence in one step; >= 1
    std::int64_t blocks = 0;               // in the cache
  };

  struct Run {
    SequenceKey sequence{};
    std::int64_t tokens = 0;   // from `computed` on
    std::int64_t blocks = 0;   // it holds from this step on
    bool reaches_end = false;  // its last known token runs: the next one is sampled
    bool is_new = false;       // admitted or resumed by this plan: needs a state slot
  };

  struct Plan {
    std::vector<SequenceKey> preempted;  // give up blocks and slot; computed is 0 again
    std::vector<Run> runs;
  };

  explicit Scheduler(const Options& options) : options_(options), free_blocks_(options.blocks) {}

  // `length` tokens are known, none computed. The caller has checked that the longest it may become
  // fits into the cache.
  void add(SequenceKey sequence, std::int64_t priority, std::int64_t length);
  [[nodiscard]] Plan plan();
  // After a step: `tokens` more are computed, and `appended` (0 or 1) more are known.
  void advance(SequenceKey sequence, std::int64_t tokens, std::int64_t appended);
  void remove(SequenceKey sequence);

  [[nodiscard]] std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  [[nodiscard]] std::int64_t free_blocks() const { return free_blocks_; }
  [[nodiscard]] std::int64_t preemptions() const { return preemptions_; }

 private:
  // (priority, arrival): lower runs first.
  using Rank = std::pair<std::int64_t, std::uint64_t>;
  struct Entry {
    Rank rank;
    std::int64_t length = 0;
    std::int64_t computed = 0;
    std::int64_t blocks = 0;
  };
  using Queue = std::set<std::pair<Rank, SequenceKey>>;

  struct Budget {
    std::int64_t tokens;
    std::set<SequenceKey> placed;  // have a run in this plan: not to be preempted any more
  };

  void plan_running(Plan& plan, Budget& budget, bool prompts);
  void admit(Plan& plan, Budget& budget);
  // Frees blocks until `entry` can hold `blocks`; false when only better ranks are left.
  bool make_room(Plan& plan, const Budget& budget, const Entry& entry, std::int64_t blocks);
  void place(Plan& plan, Budget& budget, SequenceKey sequence, bool is_new);
  void preempt(Plan& plan, SequenceKey sequence);
  [[nodiscard]] std::int64_t chunk(const Entry& entry, const Budget& budget) const;

  const Options options_;
  std::int64_t free_blocks_;
  std::int64_t preemptions_ = 0;
  std::uint64_t arrivals_ = 0;
  std::map<SequenceKey, Entry> entries_;
  Queue running_;
  Queue waiting_;
};

}  // namespace deepinfer::engine
