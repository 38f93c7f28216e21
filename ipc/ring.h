// What both ends of a ring need: how far to believe the other side's index, how to copy what it may change
// meanwhile, and the fence without which a wake-up gets lost. Internal to ipc/.
//
// Threads:  each function: any; a PeerIndex is confined to its ring's thread
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace deepinfer::ipc {

// A free-running index that the other side writes, as far as it was believed.
template <typename Integer>
class PeerIndex {
 public:
  explicit PeerIndex(Integer first) : seen_(first) {}

  // Loads `word` once. False, and nothing is believed, unless it lies between what was seen before and
  // `limit`: it moves forward only, and no further than this side has given it reason to.
  [[nodiscard]] bool follow(const std::atomic<Integer>& word, Integer limit) {
    const Integer loaded = word.load(std::memory_order_acquire);
    // Differences, so that a wrap is nothing special.
    if (static_cast<Integer>(loaded - seen_) > static_cast<Integer>(limit - seen_)) return false;
    seen_ = loaded;
    return true;
  }
  [[nodiscard]] Integer seen() const { return seen_; }

 private:
  Integer seen_;
};

// Copies bytes that the other side can change at any moment. After it the compiler may not read them from
// `from` again, so what is checked is what is used.
inline void copy_once(void* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Between "publish" and "does the other side sleep?", and between "I sleep" and "was something published?":
// without it both may read the old value, and the sleeper is not woken. docs/shared-memory.md.
inline void full_fence() {
#if defined(__SANITIZE_THREAD__)
  // The thread sanitizer does not know fences, and gcc refuses to compile one with it. A read-modify-write
  // is as strong on the machines it runs on, and orders nothing that the sanitizer should complain about.
  std::atomic<std::uint32_t> word{0};
  word.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// What a side that goes to sleep stores in its `sleeping`: another number than for its last sleeps, so that
// the other side can tell them apart and wakes once for each. It may go on publishing for a long time before
// the sleeper runs, and one system call for each submission is most of what that costs.
[[nodiscard]] inline std::uint32_t next_sleep(std::uint32_t last) {
  return last + 1 == 0 ? 1 : last + 1;
}

// Whether a sleep that was seen has to be ended, and remembers that it has been.
[[nodiscard]] inline bool needs_waking(std::uint32_t sleep, std::uint32_t& woken) {
  if (sleep == 0 || sleep == woken) return false;
  woken = sleep;
  return true;
}

}  // namespace deepinfer::ipc
