#include "kernels/workers.h"

namespace deepinfer::kernels {

Workers::Workers(int threads) {
  for (int worker = 1; worker < threads; ++worker) {
    helpers_.emplace_back([this, worker] { serve(worker); });
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Workers::run(const Task& task) {
  pending_.store(static_cast<std::int64_t>(helpers_.size()), std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    task_ = task;
    ++generation_;
  }
  wake_.notify_all();
  run_part(task, 0);
  // The parts are of one length, so the wait is short: give the core away, but do not sleep.
  while (pending_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void Workers::serve(int worker) {
  std::uint64_t seen = 0;
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      task = task_;
    }
    run_part(task, worker);
    pending_.fetch_sub(1, std::memory_order_release);
  }
}

void Workers::run_part(const Task& task, int worker) {
  if (worker >= task.parts) return;
  const std::int64_t begin = task.count * worker / task.parts;
  const std::int64_t end = task.count * (worker + 1) / task.parts;
  if (begin < end) task.call(task.body, begin, end, worker);
}

}  // namespace deepinfer::kernels
