// How long the next wait may be busy before it sleeps: only as long as that has paid off lately.
//
// Spinning pays when the answer comes sooner than a sleeper would be woken, and harms when the other side
// needs the processor that spins. So: with one processor never; a spin in vain halves the budget, one that
// found something doubles it up to the limit; and while recent waits were longer than the limit on average,
// only one wait in 64 tries. A wait that slept cannot tell how long a spin would have taken: hence the tries.
// Threads:  confined to one thread
#pragma once

#include <chrono>
#include <cstdint>

namespace deepinfer::ipc {

class AdaptiveSpin {
 public:
  // How long to spin at most, given `limit`, on `processors`.
  [[nodiscard]] std::chrono::nanoseconds next(std::chrono::nanoseconds limit, int processors);
  // What became of it: how long the wait took, spinning and sleeping.
  void learn(std::chrono::nanoseconds waited);

 private:
  std::chrono::nanoseconds limit_{0};                                 // of the last next()
  std::chrono::nanoseconds budget_{0};                                // given by the last next()
  std::chrono::nanoseconds wanted_{std::chrono::nanoseconds::max()};  // halved and doubled
  std::chrono::nanoseconds average_{0};                               // of waits
  std::uint32_t since_try_ = 0;  // waits since the last that spun
  bool is_try_ = false;
};

// Processors that this thread may run on.
[[nodiscard]] int usable_processors();

}  // namespace deepinfer::ipc
