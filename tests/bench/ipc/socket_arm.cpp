#include "tests/bench/ipc/socket_arm.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <sys/socket.h>
#include <sys/types.h>

#include "base/file_descriptor.h"

namespace deepinfer::bench {
namespace {

Error system_failure(const char* call) {
  return fail(ErrorCode::kInternal, std::string(call) + ": " + last_system_error());
}

// One datagram; 0: the peer has closed.
Result<std::size_t> receive_into(int socket, void* buffer, std::size_t bytes) {
  for (;;) {
    const ssize_t got = ::recv(socket, buffer, bytes, 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == ECONNRESET) return std::size_t{0};
    if (errno != EINTR) return system_failure("recv");
  }
}

Status send_all(int socket, const void* buffer, std::size_t bytes) {
  for (;;) {
    const ssize_t sent = ::send(socket, buffer, bytes, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(bytes)) return Done{};
    if (sent >= 0 || errno != EINTR) return system_failure("send");
  }
}

class SocketArm final : public Arm {
 public:
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
    Message message{};
    Answer answer;
    for (;;) {
      DEEPINFER_TRY(const std::size_t got,
                    receive_into(server_.number(), &message, sizeof(message)));
      if (got == 0) return Done{};
      const auto number = decode(message, got);
      if (!number) return fail(ErrorCode::kInternal, "an unknown message");
      answer.number = *number;
      DEEPINFER_TRY([[maybe_unused]] const Done sent,
                    send_all(server_.number(), &answer, sizeof(answer)));
    }
  }

  Status connect(const Job& job) override {
    server_ = FileDescriptor();
    message_ = message_of(job);
    bytes_ = message_bytes(job);
    return Done{};
  }

  Result<bool> send(std::uint64_t number) override {
    message_.header.user_data = number;
    DEEPINFER_TRY([[maybe_unused]] const Done sent, send_all(client_.number(), &message_, bytes_));
    return true;
  }

  Result<std::uint64_t> receive() override {
    Answer answer;
    DEEPINFER_TRY(const std::size_t got, receive_into(client_.number(), &answer, sizeof(answer)));
    if (got != sizeof(answer) || answer.number != expected_) {
      return fail(ErrorCode::kInternal, "the server has gone, or answered another job");
    }
    ++expected_;
    return std::uint64_t{1};
  }

  void finish() override { client_ = FileDescriptor(); }

 private:
  FileDescriptor client_;
  FileDescriptor server_;
  Message message_{};
  std::size_t bytes_ = 0;
  std::uint64_t expected_ = 0;
};

}  // namespace

std::unique_ptr<Arm> make_socket_arm() { return std::make_unique<SocketArm>(); }

}  // namespace deepinfer::bench
