#include "tests/bench/ipc/ring_arm.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/file_descriptor.h"
#include "ipc/client_end.h"
#include "ipc/daemon_end.h"
#include "ipc/doorbell.h"
#include "ipc/socket.h"

namespace deepinfer::bench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::uint64_t kSession = 1;
constexpr std::uint64_t kEpoch = 1;
constexpr int kVisit =
    16;  // submissions before the loop looks at its other descriptors, as deepinferd
constexpr int kLooksPerClock = 32;
constexpr auto kServerSpin = std::chrono::microseconds(20);
constexpr auto kRecheck = std::chrono::milliseconds(100);
constexpr auto kHandshake = std::chrono::milliseconds(2000);

Error system_failure(const char* call) {
  return fail(ErrorCode::kInternal, std::string(call) + ": " + last_system_error());
}

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The daemon's side: what its loop does with one session, without the others.
class RingServer {
 public:
  static Result<std::unique_ptr<RingServer>> create(int socket, ServerWait wait) {
    DEEPINFER_TRY(auto end, ipc::DaemonEnd::create(ipc::Geometry{}, kSession, kEpoch));
    FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.is_open()) return system_failure("epoll_create1");
    for (const int watched : {end->doorbell(), socket}) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = watched;
      if (::epoll_ctl(epoll.number(), EPOLL_CTL_ADD, watched, &event) != 0) {
        return system_failure("epoll_ctl");
      }
    }
    const std::array<int, 3> given = end->client_descriptors();
    constexpr std::array<std::byte, 8> kGreeting{};
    DEEPINFER_TRY(const bool is_sent, ipc::send_datagram(socket, kGreeting, given));
    if (!is_sent) return fail(ErrorCode::kInternal, "the socket is full");
    end->forget_client_descriptors();
    return std::unique_ptr<RingServer>(
        new RingServer(std::move(end), std::move(epoll), socket, wait));
  }

  // Until the socket says that the client has gone.
  Status run() {
    for (;;) {
      DEEPINFER_TRY(const bool is_empty, answer_some());
      if (!is_empty) continue;
      if (wait_ == ServerWait::kSpins) {
        DEEPINFER_TRY(const bool has_more, spin());
        if (has_more) continue;
      }
      if (!end_->prepare_sleep()) continue;
      DEEPINFER_TRY(const bool is_over, sleep());
      if (is_over) return Done{};
    }
  }

 private:
  RingServer(std::unique_ptr<ipc::DaemonEnd> end, FileDescriptor epoll, int socket, ServerWait wait)
      : end_(std::move(end)), epoll_(std::move(epoll)), socket_(socket), wait_(wait) {}

  // At most kVisit submissions, one wake-up for all. True when the ring was empty at the end.
  Result<bool> answer_some() {
    int answered = 0;
    bool is_empty = false;
    while (answered < kVisit) {
      DEEPINFER_TRY(const bool has_one, end_->take(submission_));
      is_empty = !has_one;
      if (is_empty) break;
      DEEPINFER_TRY([[maybe_unused]] const Done done, answer());
      ++answered;
    }
    if (answered > 0) end_->wake();
    return is_empty;
  }

  Status answer() {
    if (!submission_.problem.empty() || !decode(submission_.descriptor)) {
      return fail(ErrorCode::kInternal, "an unknown submission " + submission_.problem);
    }
    DEEPINFER_TRY(const bool has_room,
                  end_->publish(ipc::CompletionKind::kAccepted, submission_.user_data, {}));
    if (!has_room) return fail(ErrorCode::kInternal, "no room for a completion");
    return Done{};
  }

  // True when something was submitted meanwhile, and is answered.
  Result<bool> spin() {
    const auto deadline = Steady::now() + kServerSpin;
    do {
      for (int look = 0; look < kLooksPerClock; ++look) {
        DEEPINFER_TRY(const bool has_one, end_->take(submission_));
        if (has_one) {
          DEEPINFER_TRY([[maybe_unused]] const Done done, answer());
          end_->wake();
          return true;
        }
        pause_processor();
      }
    } while (Steady::now() < deadline);
    return false;
  }

  // True when the client has gone.
  Result<bool> sleep() {
    epoll_event event{};
    const int ready = ::epoll_wait(epoll_.number(), &event, 1, -1);
    if (ready < 0 && errno != EINTR) return system_failure("epoll_wait");
    end_->end_sleep();
    if (ready > 0 && event.data.fd == socket_) return true;
    ipc::drain_doorbell(end_->doorbell());
    return false;
  }

  std::unique_ptr<ipc::DaemonEnd> end_;
  FileDescriptor epoll_;
  int socket_;
  ServerWait wait_;
  ipc::Submission submission_;
};

class RingArm final : public Arm {
 public:
  explicit RingArm(RingOptions options) : options_(options) {}

  Status prepare() override {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return system_failure("socketpair");
    }
    client_ = FileDescriptor(ends[0]);
    server_ = FileDescriptor(ends[1]);
    return Done{};
  }

  Status serve(const Job& job) override {
    (void)job;
    client_ = FileDescriptor();
    DEEPINFER_TRY(const auto server, RingServer::create(server_.number(), options_.server));
    return server->run();
  }

  Status connect(const Job& job) override {
    server_ = FileDescriptor();
    job_ = job;
    if (!ipc::wait_readable(client_.number(), kHandshake)) {
      return fail(ErrorCode::kDeadlineExceeded, "the server sends no session");
    }
    DEEPINFER_TRY(auto datagram, ipc::receive_datagram(client_.number(), ipc::kMaxHelloBytes, 3));
    if (!datagram || datagram->descriptors.size() != 3) {
      return fail(ErrorCode::kInternal, "the server sends no session");
    }
    auto& given = datagram->descriptors;
    DEEPINFER_TRY(end_, ipc::ClientEnd::attach(
                            {std::move(given[0]), std::move(given[1]), std::move(given[2])},
                            ipc::Geometry{}, kSession));
    return Done{};
  }

  Result<bool> send(std::uint64_t number) override {
    return end_->submit(ipc::Operation::kSubmit, number, job_.descriptor);
  }

  Result<std::uint64_t> receive() override {
    for (;;) {
      DEEPINFER_TRY(const std::uint64_t got, take_all());
      if (got > 0) return got;
      end_->wait(kRecheck, options_.client_spin);
    }
  }

  void finish() override { client_ = FileDescriptor(); }

 private:
  Result<std::uint64_t> take_all() {
    std::uint64_t got = 0;
    for (;;) {
      DEEPINFER_TRY(const bool has_one, end_->next(completion_, payload_));
      if (!has_one) return got;
      if (completion_.user_data != expected_) {
        return fail(ErrorCode::kInternal, "the server answered another job");
      }
      ++expected_;
      ++got;
    }
  }

  RingOptions options_;
  FileDescriptor client_;
  FileDescriptor server_;
  Job job_;
  std::unique_ptr<ipc::ClientEnd> end_;
  ipc::Completion completion_;
  std::vector<std::byte> payload_;
  std::uint64_t expected_ = 0;
};

}  // namespace

std::unique_ptr<Arm> make_ring_arm(RingOptions options) {
  return std::make_unique<RingArm>(options);
}

}  // namespace deepinfer::bench
