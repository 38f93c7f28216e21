// A daemon that does what a test tells it, on a thread of its own: the real handshake and shared memory, and
// no model behind them.
//
// Threads:  the callbacks of a Script and everything of a FakeSession run on the daemon's thread; run() brings a
//           function there. The rest belongs to the test's thread
// Lifetime: when a FakeDaemon goes, it goes as after kill -9: nothing is said, the kernel closes
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "ipc/codec.h"
#include "ipc/daemon_end.h"
#include "ipc/messages.h"
#include "ipc/socket.h"

namespace deepinfer::client {

// A client, as the daemon sees it.
class FakeSession {
 public:
  FakeSession(FileDescriptor socket, const ipc::Geometry& geometry, std::uint64_t number);

  // Queued, and published as there is room.
  void publish(ipc::CompletionKind kind, std::uint64_t user_data, std::vector<std::byte> payload);
  void accept(std::uint64_t user_data);
  void refuse(std::uint64_t user_data, const RequestError& error);
  void send_token(std::uint64_t user_data, const TokenEvent& event);
  // In pieces of at most `most_bytes`.
  void finish(std::uint64_t user_data, const RequestResult& result,
              std::size_t most_bytes = ipc::kMaxPayloadBytes);
  void lose(std::uint64_t user_data);
  void send_bytes(std::span<const std::byte> bytes);
  // Of the request arena; fails the test when it does not lie inside.
  [[nodiscard]] std::string text_of(ipc::Span span) const;

  [[nodiscard]] ipc::DaemonEnd& end() { return *end_; }
  [[nodiscard]] int socket() const { return socket_.number(); }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // False: there is something left to publish.
  bool flush();
  void close() { is_closed_ = true; }
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  [[nodiscard]] bool is_welcome() const { return is_welcome_; }
  void set_welcome() { is_welcome_ = true; }

 private:
  struct Outgoing {
    ipc::CompletionKind kind = ipc::CompletionKind::kNothingDone;
    std::uint64_t user_data = 0;
    std::vector<std::byte> payload;
  };
  FileDescriptor socket_;
  const std::uint64_t number_;
  std::unique_ptr<ipc::DaemonEnd> end_;
  std::deque<Outgoing> outgoing_;
  bool is_welcome_ = false;
  bool is_closed_ = false;
};

// A submission, decoded.
struct FakeSubmission {
  ipc::Operation operation = ipc::Operation::kNothing;
  std::uint64_t user_data = 0;
  ipc::SubmitMessage message;
};

enum class Greeting : std::uint8_t {
  kWelcome,
  kRefusal,        // Script::refusal
  kSilence,        // the hello stays unanswered
  kGarbage,        // bytes that are no message
  kNoDescriptors,  // a welcome without memory
  kOtherProtocol,  // a welcome of another major version
  kClose,          // the connection is closed
};

struct Script {
  Greeting greeting = Greeting::kWelcome;
  ipc::Refusal refusal{};
  ipc::Geometry geometry{.submission_entries = 16,
                         .completion_entries = 64,
                         .arena_bytes = 256U << 10U,
                         .result_bytes = 1U << 20U};
  std::uint64_t max_unfinished = 10'000;
  std::string model = "fake";
  // Default: echo().
  std::function<void(FakeSession&, const FakeSubmission&)> on_submission{};
  // Nothing: no answer. Default: a plain answer to everything.
  std::function<std::optional<ipc::Reply>(FakeSession&, const ipc::Question&)> on_question{};
};

// Accepts, and answers with the prompt's text and custom_id.
void echo(FakeSession& session, const FakeSubmission& submission);
// What echo() answers.
[[nodiscard]] RequestResult echo_result(const std::string& prompt, const std::string& custom_id);
[[nodiscard]] std::string prompt_text(const FakeSession& session,
                                      const ipc::SubmitMessage& message);
[[nodiscard]] std::optional<ipc::Reply> plain_answer(const ipc::Question& question);

class FakeDaemon {
 public:
  explicit FakeDaemon(const std::filesystem::path& socket, Script script = {});
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;
  ~FakeDaemon();

  // On the daemon's thread; returns when it has been done.
  void run(const std::function<void(FakeDaemon&)>& action);
  // After this, what the callbacks have written can be read.
  void settle() {
    run([](FakeDaemon&) {});
  }
  // Within run():
  [[nodiscard]] std::list<FakeSession>& sessions() { return sessions_; }
  [[nodiscard]] Script& script() { return script_; }
  [[nodiscard]] int greeted() const { return greeted_; }  // hellos so far
  // While set it takes nothing, reads nothing and publishes nothing, as under SIGSTOP.
  void set_frozen(bool is_frozen) { is_frozen_ = is_frozen; }

  // Clients at the moment. A client that has its welcome is counted.
  [[nodiscard]] std::size_t session_count();
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  void loop();
  void wait();
  void accept_clients();
  void serve(FakeSession& session);
  void greet(FakeSession& session, const ipc::Datagram& datagram);
  void welcome(FakeSession& session);
  void answer(FakeSession& session, const ipc::Datagram& datagram);
  void take(FakeSession& session);

  const std::uint64_t epoch_;
  Script script_;
  ipc::Listener listener_;
  FileDescriptor wakeup_;
  std::list<FakeSession> sessions_;
  std::uint64_t last_session_ = 0;
  bool is_frozen_ = false;
  int greeted_ = 0;

  std::mutex mutex_;
  std::vector<std::function<void()>> actions_;  // by mutex_
  bool is_stopping_ = false;                    // by mutex_
  std::thread thread_;
};

}  // namespace deepinfer::client
