#include "tests/e2e/raw_session.h"

#include <chrono>
#include <cstring>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace deepinfer::e2e {
namespace {

constexpr std::chrono::seconds kPatience{20};

}  // namespace

FileDescriptor raw_connect(const std::filesystem::path& socket) {
  auto connected = ipc::connect_to(socket, kPatience);
  return connected ? *std::move(connected) : FileDescriptor();
}

void raw_send(int socket, const std::vector<std::byte>& bytes,
              const std::vector<int>& descriptors) {
  static_cast<void>(ipc::send_datagram(socket, bytes, descriptors));
}

bool is_hung_up(int socket) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (!ipc::wait_readable(socket, std::chrono::milliseconds(100))) continue;
    const auto datagram = ipc::receive_datagram(socket, ipc::kMaxControlBytes, 16);
    if (!datagram) return true;
  }
  return false;
}

void RawSession::put(const ipc::SubmissionHeader& header, const std::vector<std::byte>& descriptor,
                     std::uint32_t step) const {
  const std::uint32_t index = client().published.value.load();
  std::byte* slot = c2d->data() + ipc::kPage +
                    (index % welcome.granted.submission_entries) * ipc::kSubmissionSlotBytes;
  std::memcpy(slot, &header, sizeof header);
  const std::size_t bytes = std::min(descriptor.size(), ipc::kMaxInlineBytes);
  if (bytes > 0) std::memcpy(slot + sizeof header, descriptor.data(), bytes);
  client().published.value.store(index + step);
  const std::uint64_t one = 1;
  static_cast<void>(!::write(descriptors[2].number(), &one, sizeof one));
}

std::optional<ipc::Completion> RawSession::next() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (daemon().published.value.load() == taken) {
    if (std::chrono::steady_clock::now() > end) return std::nullopt;
    if ((daemon().flags.value.load() & ipc::kFlagDead) != 0) return std::nullopt;
    pollfd waiting{socket.number(), POLLIN, 0};
    static_cast<void>(::poll(&waiting, 1, 1));
  }
  ipc::Completion completion;
  std::memcpy(&completion,
              d2c->data() + ipc::kPage +
                  (taken % welcome.granted.completion_entries) * ipc::kCompletionSlotBytes,
              sizeof completion);
  client().consumed.value.store(++taken);
  client().released.value.store(completion.release);
  return completion;
}

Result<RawSession> raw_session(const std::filesystem::path& socket) {
  RawSession session;
  session.socket = raw_connect(socket);
  ipc::Words words;
  ipc::encode(ipc::Hello{}, words);
  static_cast<void>(ipc::send_datagram(session.socket.number(), ipc::bytes_of(words), {}));
  if (!ipc::wait_readable(session.socket.number(), kPatience)) {
    return fail(ErrorCode::kDeadlineExceeded, "no welcome");
  }
  DEEPINFER_TRY(auto datagram,
                ipc::receive_datagram(session.socket.number(), ipc::kMaxControlBytes, 3));
  if (!datagram) return fail(ErrorCode::kDataLoss, "no datagram");
  DEEPINFER_TRY(words, ipc::to_words(datagram->bytes));
  DEEPINFER_TRY(const ipc::HelloReply reply, ipc::decode_hello_reply(words));
  if (const auto* refusal = std::get_if<ipc::Refusal>(&reply)) {
    return fail(ErrorCode::kFailedPrecondition, refusal->what);
  }
  session.welcome = std::get<ipc::Welcome>(reply);
  session.descriptors = std::move(datagram->descriptors);
  const ipc::Geometry& geometry = session.welcome.granted;
  DEEPINFER_TRY(session.c2d, ipc::Mapping::map(session.descriptors.at(0).number(),
                                               ipc::c2d_bytes(geometry), ipc::Access::kReadWrite));
  DEEPINFER_TRY(session.d2c, ipc::Mapping::map(session.descriptors.at(1).number(),
                                               ipc::d2c_bytes(geometry), ipc::Access::kRead));
  return session;
}

}  // namespace deepinfer::e2e
