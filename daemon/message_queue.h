// Messages from any thread to one: unbounded, in order for each sender, without a lock.
//
// Bounded by what may be in flight: senders are admitted before they send (admission.h).
// Threads:  push from any; take_all from one
// Cost:     one allocation and one exchange for each push; take_all is one exchange and a reversal
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace deepinfer::daemon {

template <typename Message>
class MessageQueue {
 public:
  MessageQueue() = default;
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;
  ~MessageQueue() { static_cast<void>(take_all()); }

  void push(Message message) {
    auto node = std::make_unique<Node>(Node{std::move(message), nullptr});
    node->next = newest_.load(std::memory_order_relaxed);
    // Release: the message is whole before it can be seen; take_all acquires.
    while (!newest_.compare_exchange_weak(node->next, node.get(), std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
    static_cast<void>(node.release());  // the queue owns it now
  }

  // Everything pushed so far, oldest first.
  [[nodiscard]] std::vector<Message> take_all() {
    std::unique_ptr<Node> node(newest_.exchange(nullptr, std::memory_order_acquire));
    std::vector<Message> messages;
    while (node != nullptr) {
      messages.push_back(std::move(node->message));
      node.reset(node->next);
    }
    return {std::make_move_iterator(messages.rbegin()), std::make_move_iterator(messages.rend())};
  }

  [[nodiscard]] bool is_empty() const { return newest_.load(std::memory_order_acquire) == nullptr; }

 private:
  struct Node {
    Message message;
    Node* next;
  };
  std::atomic<Node*> newest_{nullptr};
};

}  // namespace deepinfer::daemon
