#include "client/cli/stop_signals.h"

#include <algorithm>
#include <ctime>

#include <pthread.h>

namespace deepinfer::cli {

StopSignals::StopSignals() {
  sigemptyset(&waiting_);
  sigaddset(&waiting_, SIGINT);
  sigaddset(&waiting_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &waiting_, &before_);
}

StopSignals::~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int StopSignals::poll() const {
  const timespec at_once{};
  return std::max(0, sigtimedwait(&waiting_, nullptr, &at_once));
}

}  // namespace deepinfer::cli
