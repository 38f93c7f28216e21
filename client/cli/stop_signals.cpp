#include "client/cli/stop_signals.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <pthread.h>

namespace deepinfer::cli {

StopSignals::StopSignals() {
  sigemptyset(&waiting_);
  sigaddset(&waiting_, SIGINT);
  sigaddset(&waiting_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &waiting_, &before_);
}

StopSignals::~StopSignals() { restore(); }

int StopSignals::poll() {
  wait(std::chrono::milliseconds(0));
  return std::exchange(seen_, 0);
}

void StopSignals::wait(std::chrono::milliseconds time) {
  if (seen_ != 0) return;
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  timespec most{};
  most.tv_sec = whole.count();
  most.tv_nsec = std::chrono::nanoseconds(time - whole).count();
  seen_ = std::max(0, sigtimedwait(&waiting_, nullptr, &most));
}

void StopSignals::restore() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace deepinfer::cli
