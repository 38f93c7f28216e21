#include "tests/bench/ipc/queue_arm.h"

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <boost/interprocess/ipc/message_queue.hpp>
#include <unistd.h>

namespace deepinfer::bench {
namespace {

using Queue = boost::interprocess::message_queue;

constexpr std::size_t kMessages = 256;

Error queue_failure(const std::exception& thrown) {
  return fail(ErrorCode::kInternal, std::string("message_queue: ") + thrown.what());
}

class QueueArm final : public Arm {
 public:
  // The names go at once: the mappings are inherited.
  Status prepare() override {
    const std::string name = "deepinfer-bench-" + std::to_string(::getpid());
    try {
      jobs_.emplace(boost::interprocess::create_only, (name + "-jobs").c_str(), kMessages,
                    sizeof(Message));
      Queue::remove((name + "-jobs").c_str());
      answers_.emplace(boost::interprocess::create_only, (name + "-answers").c_str(), kMessages,
                       sizeof(Answer));
      Queue::remove((name + "-answers").c_str());
    } catch (const std::exception& thrown) {
      return queue_failure(thrown);
    }
    return Done{};
  }

  // An empty message ends it.
  Status serve(const Job& job) override {
    (void)job;
    Message message{};
    Answer answer;
    try {
      for (;;) {
        Queue::size_type got = 0;
        unsigned int priority = 0;
        jobs_->receive(&message, sizeof(message), got, priority);
        if (got == 0) return Done{};
        const auto number = decode(message, got);
        if (!number) return fail(ErrorCode::kInternal, "an unknown message");
        answer.number = *number;
        answers_->send(&answer, sizeof(answer), 0);
      }
    } catch (const std::exception& thrown) {
      return queue_failure(thrown);
    }
  }

  Status connect(const Job& job) override {
    message_ = message_of(job);
    bytes_ = message_bytes(job);
    return Done{};
  }

  Result<bool> send(std::uint64_t number) override {
    message_.header.user_data = number;
    try {
      jobs_->send(&message_, bytes_, 0);
    } catch (const std::exception& thrown) {
      return queue_failure(thrown);
    }
    return true;
  }

  Result<std::uint64_t> receive() override {
    Answer answer;
    Queue::size_type got = 0;
    unsigned int priority = 0;
    try {
      answers_->receive(&answer, sizeof(answer), got, priority);
    } catch (const std::exception& thrown) {
      return queue_failure(thrown);
    }
    if (got != sizeof(answer) || answer.number != expected_) {
      return fail(ErrorCode::kInternal, "the server answered another job");
    }
    ++expected_;
    return std::uint64_t{1};
  }

  void finish() override {
    try {
      jobs_->send(nullptr, 0, 0);
    } catch (const std::exception&) {
      // The caller waits for the server with a deadline.
    }
  }

 private:
  std::optional<Queue> jobs_;
  std::optional<Queue> answers_;
  Message message_{};
  std::size_t bytes_ = 0;
  std::uint64_t expected_ = 0;
};

}  // namespace

std::unique_ptr<Arm> make_queue_arm() { return std::make_unique<QueueArm>(); }

}  // namespace deepinfer::bench
