// Owners of libuv handles: each stops and closes what it owns when it goes.
//
// Threads:  confined to the thread that runs the loop, except Wakeup::send
// Lifetime: the Loop outlives its handles; a handle may be destroyed in a callback of another one. In a
//           callback of its own it may not: see App's graveyard
// Errors:   a handle that cannot be made ends the process with the reason: there is no daemon without
//           them, and they fail for want of descriptors or memory at start only. Poll::create reports.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <uv.h>

#include "base/result.h"

namespace deepinfer::daemon {

class Loop {
 public:
  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();  // runs until the last handle has closed

  // Until stop().
  void run();
  void stop();
  [[nodiscard]] uv_loop_t* get() { return &loop_; }

 private:
  uv_loop_t loop_{};
};

// Tells when a descriptor can be read, or its peer has gone. The descriptor may be closed as soon as the
// Poll is gone (libuv's documentation of uv_poll_stop).
class Poll {
 public:
  using Callback = std::function<void()>;
  // kResourceExhausted when the kernel cannot watch one more.
  [[nodiscard]] static Result<Poll> create(Loop& loop, int descriptor, Callback on_readable);
  Poll(Poll&&) noexcept = default;
  Poll& operator=(Poll&&) noexcept = default;
  ~Poll() = default;

  void pause();
  void resume();

 private:
  struct Watch;
  struct Close {
    void operator()(Watch* watch) const;
  };
  explicit Poll(std::unique_ptr<Watch, Close> watch);
  std::unique_ptr<Watch, Close> watch_;
};

class Timer {
 public:
  Timer(Loop& loop, std::function<void()> on_time);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer();

  void start_once(std::chrono::milliseconds after);
  void stop();
  [[nodiscard]] bool is_running() const;

 private:
  struct Watch;
  Watch* watch_;  // freed by its close callback
};

// Calls back on the loop's thread some time after send(), which may come from any thread; several
// send() may become one call.
class Wakeup {
 public:
  Wakeup(Loop& loop, std::function<void()> on_wake);
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;
  ~Wakeup();

  void send();

 private:
  struct Watch;
  Watch* watch_;  // freed by its close callback
};

class SignalWatch {
 public:
  SignalWatch(Loop& loop, int number, std::function<void()> on_signal);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

 private:
  struct Watch;
  Watch* watch_;  // freed by its close callback
};

// Something to do away from the loop: work() runs on a thread of libuv's pool, then done() on the loop's.
class PoolWork {
 public:
  PoolWork() = default;
  PoolWork(const PoolWork&) = delete;
  PoolWork& operator=(const PoolWork&) = delete;
  virtual ~PoolWork() = default;

  virtual void work() = 0;
  virtual void done() = 0;
  // From the loop's thread: nobody waits for what is not done yet. done() is called nevertheless.
  virtual void abandon() = 0;
};
// The work goes after done().
void run_on_pool(Loop& loop, std::unique_ptr<PoolWork> work);

}  // namespace deepinfer::daemon
