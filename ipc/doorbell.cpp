#include "ipc/doorbell.h"

#include <cerrno>
#include <climits>

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace deepinfer::ipc {
namespace {

// Not FUTEX_PRIVATE_FLAG: the two sides map the word in two processes.
long futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  return ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

// The count since the last time; the errors are preadv2's. The flag counts for this call alone: a client
// that makes the descriptor blocking, which both share, cannot make the daemon wait.
ssize_t read_now(int descriptor) {
  std::uint64_t count = 0;
  iovec into{&count, sizeof(count)};
  ssize_t got = 0;
  do {
    got = ::preadv2(descriptor, &into, 1, -1, RWF_NOWAIT);
  } while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

Result<FileDescriptor> create_doorbell() {
  FileDescriptor doorbell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!doorbell.is_open()) {
    return fail(ErrorCode::kResourceExhausted, "eventfd: " + last_system_error());
  }
  return doorbell;
}

void ring_doorbell(int descriptor) {
  const std::uint64_t one = 1;
  // EAGAIN: the counter is full, so the daemon will be woken anyway.
  while (::write(descriptor, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

bool drain_doorbell(int descriptor) { return read_now(descriptor) > 0; }

Status probe_doorbell() {
  DEEPINFER_TRY(const FileDescriptor doorbell, create_doorbell());
  const bool was_silent = read_now(doorbell.number()) < 0 && errno == EAGAIN;
  ring_doorbell(doorbell.number());
  if (!was_silent || !drain_doorbell(doorbell.number())) {
    return fail(ErrorCode::kFailedPrecondition,
                "the kernel cannot read an eventfd without blocking (RWF_NOWAIT, Linux 5.8)");
  }
  return Done{};
}

void wait_on_word(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                  std::chrono::nanoseconds timeout) {
  if (timeout <= std::chrono::nanoseconds{0}) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{seconds.count(), (timeout - seconds).count()};
  // Every way to return is the same to the caller, who looks at the ring.
  static_cast<void>(futex(word, FUTEX_WAIT, seen, &limit));
}

void wake_word(std::atomic<std::uint32_t>& word) {
  static_cast<void>(futex(word, FUTEX_WAKE, INT_MAX, nullptr));
}

}  // namespace deepinfer::ipc
