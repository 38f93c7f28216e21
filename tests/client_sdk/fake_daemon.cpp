#include "tests/client_sdk/fake_daemon.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>

namespace deepinfer::client {
namespace {

template <typename Value>
std::vector<std::byte> encoded(const Value& value) {
  ipc::Words words;
  ipc::encode(value, words);
  const auto bytes = ipc::bytes_of(words);
  return {bytes.begin(), bytes.end()};
}

ipc::Listener listen(const std::filesystem::path& socket) {
  auto listener = ipc::Listener::open(socket, 0600);
  EXPECT_TRUE(listener) << listener.error().message;
  return *std::move(listener);
}

std::uint64_t fresh_epoch() {
  static std::atomic<std::uint64_t> last{100};  // a daemon of its own for each object
  return ++last;
}

JobId job_number(std::uint64_t number) { return {.high = 7, .low = number}; }

struct PlainAnswers {
  std::optional<ipc::Reply> operator()(const ipc::StatusQuery& /*query*/) const {
    DaemonStatus status;
    status.state = DaemonState::kReady;
    status.version = "0.0.0-fake";
    return status;
  }
  std::optional<ipc::Reply> operator()(const ipc::JobsQuery& /*query*/) const {
    return ipc::JobsPage{};
  }
  std::optional<ipc::Reply> operator()(const ipc::JobQuery& query) const {
    JobInfo info;
    info.id = query.job;
    return info;
  }
  std::optional<ipc::Reply> operator()(const ipc::OpenJob& query) const {
    return job_number(query.options.seed.value_or(1));
  }
  template <typename Other>
  std::optional<ipc::Reply> operator()(const Other& /*query*/) const {
    return ipc::Nothing{};
  }
};

struct PromptText {
  const FakeSession& session;
  std::string operator()(const ipc::TextSpans& prompt) const {
    return session.text_of(prompt.text);
  }
  std::string operator()(const ipc::TokenSpans& prompt) const {
    const std::string bytes = session.text_of(prompt.ids);
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::int32_t)) {
      std::int32_t id = 0;
      std::memcpy(&id, &bytes[i], sizeof(id));
      text += std::to_string(id) + ",";
    }
    return text;
  }
  std::string operator()(const ipc::ChatSpans& prompt) const {
    return session.text_of(prompt.messages) + "|" + session.text_of(prompt.tools) + "|" +
           session.text_of(prompt.response_format) + "|" + (prompt.thinking ? "yes" : "no") + "|" +
           std::to_string(prompt.reasoning_effort);
  }
};

}  // namespace

FakeSession::FakeSession(FileDescriptor socket, const ipc::Geometry& geometry, std::uint64_t number)
    : socket_(std::move(socket)), number_(number) {
  auto end = ipc::DaemonEnd::create(geometry, number_, 1);
  EXPECT_TRUE(end) << end.error().message;
  end_ = *std::move(end);
}

void FakeSession::publish(ipc::CompletionKind kind, std::uint64_t user_data,
                          std::vector<std::byte> payload) {
  outgoing_.push_back({kind, user_data, std::move(payload)});
  flush();
}

void FakeSession::accept(std::uint64_t user_data) {
  publish(ipc::CompletionKind::kAccepted, user_data, {});
}

void FakeSession::refuse(std::uint64_t user_data, const RequestError& error) {
  publish(ipc::CompletionKind::kRefused, user_data, encoded(error));
}

void FakeSession::send_token(std::uint64_t user_data, const TokenEvent& event) {
  publish(ipc::CompletionKind::kTokens, user_data, encoded(event));
}

void FakeSession::finish(std::uint64_t user_data, const RequestResult& result,
                         std::size_t most_bytes) {
  const std::vector<std::byte> all = encoded(result);
  std::size_t offset = 0;
  while (all.size() - offset > most_bytes) {
    publish(ipc::CompletionKind::kResultPart, user_data,
            {all.begin() + static_cast<std::ptrdiff_t>(offset),
             all.begin() + static_cast<std::ptrdiff_t>(offset + most_bytes)});
    offset += most_bytes;
  }
  publish(ipc::CompletionKind::kResult, user_data,
          {all.begin() + static_cast<std::ptrdiff_t>(offset), all.end()});
}

void FakeSession::lose(std::uint64_t user_data) {
  publish(ipc::CompletionKind::kLost, user_data, {});
}

void FakeSession::send_bytes(std::span<const std::byte> bytes) {
  const auto sent = ipc::send_datagram(socket(), bytes, {});
  EXPECT_TRUE(sent && *sent);
}

std::string FakeSession::text_of(ipc::Span span) const {
  std::string text(span.bytes, '\0');
  const auto copied = end_->copy_span(span, std::as_writable_bytes(std::span(text)));
  EXPECT_TRUE(copied) << copied.error().message;
  return text;
}

bool FakeSession::flush() {
  bool is_any = false;
  while (!outgoing_.empty()) {
    const Outgoing& next = outgoing_.front();
    const auto published = end_->publish(next.kind, next.user_data, next.payload);
    EXPECT_TRUE(published) << published.error().message;
    if (!published || !*published) break;
    outgoing_.pop_front();
    is_any = true;
  }
  if (is_any) end_->wake();
  return outgoing_.empty();
}

void echo(FakeSession& session, const FakeSubmission& submission) {
  if (submission.operation != ipc::Operation::kSubmit) return;
  // Before it is accepted: then the client frees the prompt's room.
  const std::string prompt = prompt_text(session, submission.message);
  session.accept(submission.user_data);
  session.finish(submission.user_data, echo_result(prompt, submission.message.request.custom_id));
}

RequestResult echo_result(const std::string& prompt, const std::string& custom_id) {
  RequestResult result;
  result.request = RequestHandle{77};  // the daemon's own, of no meaning to a client
  result.prompt_tokens = {1, 2, 3};
  Choice choice;
  choice.reason = FinishReason::kStop;
  choice.text = prompt;
  choice.content = custom_id;
  choice.tokens = {4, 5};
  result.choices.push_back(choice);
  return result;
}

std::string prompt_text(const FakeSession& session, const ipc::SubmitMessage& message) {
  return std::visit(PromptText{session}, message.prompt);
}

std::optional<ipc::Reply> plain_answer(const ipc::Question& question) {
  return std::visit(PlainAnswers{}, question);
}

FakeDaemon::FakeDaemon(const std::filesystem::path& socket, Script script)
    : epoch_(fresh_epoch()),
      script_(std::move(script)),
      listener_(listen(socket)),
      wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { loop(); }) {}

FakeDaemon::~FakeDaemon() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  ::eventfd_write(wakeup_.number(), 1);
  thread_.join();
}

void FakeDaemon::run(const std::function<void(FakeDaemon&)>& action) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    actions_.emplace_back([&] {
      action(*this);
      done.set_value();
    });
  }
  ::eventfd_write(wakeup_.number(), 1);
  done.get_future().wait();
}

std::size_t FakeDaemon::session_count() {
  std::size_t count = 0;
  run([&](FakeDaemon&) { count = sessions_.size(); });
  return count;
}

void FakeDaemon::loop() {
  while (true) {
    wait();
    std::vector<std::function<void()>> actions;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return;
      actions.swap(actions_);
    }
    for (const auto& action : actions) action();
    if (is_frozen_) continue;
    accept_clients();
    for (FakeSession& session : sessions_) serve(session);
    sessions_.remove_if([](const FakeSession& session) { return session.is_closed(); });
  }
}

void FakeDaemon::wait() {
  std::vector<pollfd> entries{{.fd = wakeup_.number(), .events = POLLIN, .revents = 0}};
  int timeout = -1;
  if (!is_frozen_) {
    entries.push_back({.fd = listener_.number(), .events = POLLIN, .revents = 0});
    for (FakeSession& session : sessions_) {
      entries.push_back({.fd = session.socket(), .events = POLLIN, .revents = 0});
      entries.push_back({.fd = session.end().doorbell(), .events = POLLIN, .revents = 0});
      if (!session.flush()) timeout = 1;  // nothing tells when a client has made room
      if (!session.end().prepare_sleep()) timeout = 0;
    }
  }
  ::poll(entries.data(), entries.size(), timeout);
  eventfd_t rung = 0;
  ::eventfd_read(wakeup_.number(), &rung);
  for (FakeSession& session : sessions_) {
    if (!is_frozen_) session.end().end_sleep();
  }
}

void FakeDaemon::accept_clients() {
  while (true) {
    auto accepted = listener_.accept();
    EXPECT_TRUE(accepted) << accepted.error().message;
    if (!accepted || !*accepted) return;
    sessions_.emplace_back(std::move(**accepted), script_.geometry, ++last_session_);
  }
}

void FakeDaemon::serve(FakeSession& session) {
  while (!session.is_closed()) {
    const auto datagram = ipc::receive_datagram(session.socket(), ipc::kMaxControlBytes, 0);
    if (!datagram) session.close();
    if (!datagram || !*datagram) break;
    if (session.is_welcome()) {
      answer(session, **datagram);
    } else {
      greet(session, **datagram);
    }
  }
  if (session.is_closed() || !session.is_welcome()) return;
  take(session);
  session.flush();
}

void FakeDaemon::greet(FakeSession& session, const ipc::Datagram& datagram) {
  ++greeted_;
  const auto words = ipc::to_words(datagram.bytes);
  ASSERT_TRUE(words);
  const auto hello = ipc::decode_hello(*words);
  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(hello->wanted.arena_bytes, 0U);
  EXPECT_LE(hello->client_name.size(), 64U);
  switch (script_.greeting) {
    case Greeting::kRefusal:
      session.send_bytes(encoded(ipc::HelloReply{script_.refusal}));
      session.close();
      return;
    case Greeting::kSilence:
      return;
    case Greeting::kGarbage:
      session.send_bytes(std::vector<std::byte>(64, std::byte{0xa5}));
      return;
    case Greeting::kClose:
      session.close();
      return;
    case Greeting::kWelcome:
    case Greeting::kNoDescriptors:
    case Greeting::kOtherProtocol:
      welcome(session);
  }
}

void FakeDaemon::welcome(FakeSession& session) {
  ipc::Welcome welcome;
  if (script_.greeting == Greeting::kOtherProtocol) welcome.abi_major = ipc::kAbiMajor + 1;
  welcome.session = session.number();
  welcome.epoch = epoch_;
  welcome.granted = script_.geometry;
  welcome.max_unfinished = script_.max_unfinished;
  welcome.version = "0.0.0-fake";
  welcome.model.name = script_.model;
  const std::vector<std::byte> bytes = encoded(ipc::HelloReply{welcome});
  const auto descriptors = session.end().client_descriptors();
  const std::span<const int> sent_along =
      script_.greeting == Greeting::kNoDescriptors ? std::span<const int>{} : descriptors;
  const auto sent = ipc::send_datagram(session.socket(), bytes, sent_along);
  EXPECT_TRUE(sent && *sent);
  session.end().forget_client_descriptors();
  session.set_welcome();
}

void FakeDaemon::answer(FakeSession& session, const ipc::Datagram& datagram) {
  const auto words = ipc::to_words(datagram.bytes);
  ASSERT_TRUE(words);
  const auto request = ipc::decode_control_request(*words);
  ASSERT_TRUE(request) << request.error().message;
  auto reply = script_.on_question ? script_.on_question(session, request->question)
                                   : plain_answer(request->question);
  if (!reply) return;
  session.send_bytes(
      encoded(ipc::ControlReply{.number = request->number, .reply = *std::move(reply)}));
}

void FakeDaemon::take(FakeSession& session) {
  ipc::Submission submission;
  while (!session.is_closed() && !is_frozen_) {
    const auto taken = session.end().take(submission);
    EXPECT_TRUE(taken) << taken.error().message;
    if (!taken || !*taken) return;
    EXPECT_EQ(submission.problem, "");
    FakeSubmission decoded{submission.operation, submission.user_data, {}};
    if (submission.operation == ipc::Operation::kSubmit) {
      auto message = ipc::decode_submit(submission.descriptor);
      EXPECT_TRUE(message) << message.error().message;
      if (message) decoded.message = *std::move(message);
    }
    if (script_.on_submission) {
      script_.on_submission(session, decoded);
    } else {
      echo(session, decoded);
    }
  }
}

}  // namespace deepinfer::client
