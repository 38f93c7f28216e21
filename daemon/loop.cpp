#include "daemon/loop.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace deepinfer::daemon {
namespace {

void require(int outcome, const char* what) {
  if (outcome == 0) return;
  static_cast<void>(
      std::fprintf(stderr, "deepinferd: error: %s (event loop): %s\n", uv_strerror(outcome), what));
  std::abort();
}

template <typename Watch>
uv_handle_t* handle_of(Watch* watch) {
  // What libuv's documentation does: every handle type begins with the fields of uv_handle_t.
  return reinterpret_cast<uv_handle_t*>(&watch->handle);
}

template <typename Watch>
void close_and_free(Watch* watch) {
  uv_close(handle_of(watch),
           [](uv_handle_t* handle) { std::unique_ptr<Watch>(static_cast<Watch*>(handle->data)); });
}

}  // namespace

Loop::Loop() { require(uv_loop_init(&loop_), "uv_loop_init"); }

Loop::~Loop() {
  // Again after a stop() that came when nothing was running: it makes the next run return at once.
  while (uv_run(&loop_, UV_RUN_DEFAULT) != 0) {
  }
  require(uv_loop_close(&loop_), "a handle outlives its loop");
}

void Loop::run() { static_cast<void>(uv_run(&loop_, UV_RUN_DEFAULT)); }

void Loop::stop() { uv_stop(&loop_); }

struct Poll::Watch {
  uv_poll_t handle{};
  Callback on_readable;
};

void Poll::Close::operator()(Watch* watch) const {
  static_cast<void>(uv_poll_stop(&watch->handle));
  close_and_free(watch);
}

Poll::Poll(std::unique_ptr<Watch, Close> watch) : watch_(std::move(watch)) {}

Result<Poll> Poll::create(Loop& loop, int descriptor, Callback on_readable) {
  auto watch = std::make_unique<Watch>();
  watch->on_readable = std::move(on_readable);
  watch->handle.data = watch.get();
  if (const int outcome = uv_poll_init(loop.get(), &watch->handle, descriptor); outcome != 0) {
    return fail(ErrorCode::kResourceExhausted,
                std::string("cannot watch a descriptor: ") + uv_strerror(outcome));
  }
  Poll poll(std::unique_ptr<Watch, Close>(watch.release()));
  poll.resume();
  return poll;
}

void Poll::pause() { static_cast<void>(uv_poll_stop(&watch_->handle)); }

void Poll::resume() {
  // An error (hang-up included) is reported as an event too: the reader finds out by reading.
  const auto on_event = [](uv_poll_t* handle, int /*status*/, int /*events*/) {
    static_cast<Watch*>(handle->data)->on_readable();
  };
  require(uv_poll_start(&watch_->handle, UV_READABLE | UV_DISCONNECT, on_event), "uv_poll_start");
}

struct Timer::Watch {
  uv_timer_t handle{};
  std::function<void()> on_time;
};

Timer::Timer(Loop& loop, std::function<void()> on_time) : watch_(new Watch) {
  watch_->on_time = std::move(on_time);
  watch_->handle.data = watch_;
  require(uv_timer_init(loop.get(), &watch_->handle), "uv_timer_init");
}

Timer::~Timer() { close_and_free(watch_); }

void Timer::start_once(std::chrono::milliseconds after) {
  const auto on_time = [](uv_timer_t* handle) { static_cast<Watch*>(handle->data)->on_time(); };
  uv_update_time(watch_->handle.loop);
  require(uv_timer_start(&watch_->handle, on_time, static_cast<std::uint64_t>(after.count()), 0),
          "uv_timer_start");
}

void Timer::stop() { static_cast<void>(uv_timer_stop(&watch_->handle)); }

bool Timer::is_running() const { return uv_is_active(handle_of(watch_)) != 0; }

struct Wakeup::Watch {
  uv_async_t handle{};
  std::function<void()> on_wake;
};

Wakeup::Wakeup(Loop& loop, std::function<void()> on_wake) : watch_(new Watch) {
  watch_->on_wake = std::move(on_wake);
  watch_->handle.data = watch_;
  const auto on_send = [](uv_async_t* handle) { static_cast<Watch*>(handle->data)->on_wake(); };
  require(uv_async_init(loop.get(), &watch_->handle, on_send), "uv_async_init");
}

Wakeup::~Wakeup() { close_and_free(watch_); }

void Wakeup::send() { static_cast<void>(uv_async_send(&watch_->handle)); }

struct SignalWatch::Watch {
  uv_signal_t handle{};
  std::function<void()> on_signal;
};

SignalWatch::SignalWatch(Loop& loop, int number, std::function<void()> on_signal)
    : watch_(new Watch) {
  watch_->on_signal = std::move(on_signal);
  watch_->handle.data = watch_;
  require(uv_signal_init(loop.get(), &watch_->handle), "uv_signal_init");
  const auto on_number = [](uv_signal_t* handle, int /*number*/) {
    static_cast<Watch*>(handle->data)->on_signal();
  };
  require(uv_signal_start(&watch_->handle, on_number, number), "uv_signal_start");
}

SignalWatch::~SignalWatch() { close_and_free(watch_); }

void run_on_pool(Loop& loop, std::unique_ptr<PoolWork> work) {
  struct Job {
    uv_work_t request{};
    std::unique_ptr<PoolWork> work;
  };
  auto job = std::make_unique<Job>();
  job->request.data = job.get();
  job->work = std::move(work);
  const auto on_work = [](uv_work_t* request) { static_cast<Job*>(request->data)->work->work(); };
  const auto on_done = [](uv_work_t* request, int /*status*/) {
    const std::unique_ptr<Job> finished(static_cast<Job*>(request->data));
    finished->work->done();
  };
  require(uv_queue_work(loop.get(), &job->request, on_work, on_done), "uv_queue_work");
  static_cast<void>(job.release());  // on_done owns it
}

}  // namespace deepinfer::daemon
