// A fixed set of threads that run the rows of one operation side by side.
//
// The partition is static: worker w of n takes the w-th of n equal ranges. What a row computes never
// depends on which worker computes it, so results are the same for every number of threads.
//
// Threads:  for_ranges is called by one thread at a time, the owner; the body runs on all of them.
// Lifetime: the destructor joins the threads.
// Cost:     one wake-up and one wait per call; with one thread, a plain call.
// Errors:   the body must not throw.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace deepinfer::kernels {

class Workers {
 public:
  // `threads` counts the caller; below 1 means 1.
  explicit Workers(int threads);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  [[nodiscard]] int threads() const noexcept { return static_cast<int>(helpers_.size()) + 1; }

  // Calls body(begin, end, worker) so that the ranges cover [0, count) once; returns when all are
  // done. A worker with an empty range is not called.
  template <typename Body>
  void for_ranges(std::int64_t count, const Body& body) {
    const std::int64_t parts = std::min<std::int64_t>(threads(), count);
    if (parts <= 1) {
      if (count > 0) body(std::int64_t{0}, count, 0);
      return;
    }
    run(Task{.call = &call_body<Body>, .body = &body, .count = count, .parts = parts});
  }

 private:
  struct Task {
    void (*call)(const void* body, std::int64_t begin, std::int64_t end, int worker) = nullptr;
    const void* body = nullptr;
    std::int64_t count = 0;
    std::int64_t parts = 0;
  };

  template <typename Body>
  static void call_body(const void* body, std::int64_t begin, std::int64_t end, int worker) {
    (*static_cast<const Body*>(body))(begin, end, worker);
  }

  void run(const Task& task);
  void serve(int worker);
  static void run_part(const Task& task, int worker);

  std::mutex mutex_;
  std::condition_variable wake_;
  Task task_;                             // guarded by mutex_
  std::uint64_t generation_ = 0;          // guarded by mutex_; one more for each task
  bool stop_ = false;                     // guarded by mutex_
  std::atomic<std::int64_t> pending_{0};  // helpers still busy: release by them, acquire by run()
  std::vector<std::thread> helpers_;
};

}  // namespace deepinfer::kernels
