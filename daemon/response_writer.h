// What happens to requests -> completions in one session's ring, in order, never lost.
//
// A result that finds no room waits here and goes out when the client has made some; a single token that
// finds none is left out, since its text comes with the result.
// Threads:  confined to the loop's thread
// Lifetime: the DaemonEnd outlives it
// Cost:     one encoding of each result, one copy into the ring; what waits is bounded by the session's
//           unfinished requests (admission.h)
// Errors:   kDataLoss the client broke the protocol, or does not read while more is written for it than
//           any client that reads can have outstanding: close the session
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include <deepinfer/types.h>

#include "base/result.h"
#include "ipc/codec.h"
#include "ipc/daemon_end.h"

namespace deepinfer::daemon {

class ResponseWriter {
 public:
  // At most `most_waiting` messages wait for room.
  ResponseWriter(ipc::DaemonEnd& end, std::size_t most_waiting);

  [[nodiscard]] Status nothing_done(std::uint64_t user_data);
  [[nodiscard]] Status accepted(std::uint64_t user_data);
  [[nodiscard]] Status refused(std::uint64_t user_data, const RequestError& error);
  [[nodiscard]] Status token(std::uint64_t user_data, const TokenEvent& event);
  [[nodiscard]] Status finished(std::uint64_t user_data, const RequestResult& result);
  [[nodiscard]] Status lost(std::uint64_t user_data);

  // Writes what waits, as far as there is room, and wakes the client for all that was written since the
  // last flush.
  [[nodiscard]] Status flush();
  // Results, refusals and the like that wait for room.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Message {
    ipc::CompletionKind kind{};  // of the last piece
    std::uint64_t user_data = 0;
    ipc::Words words;
    std::size_t written_bytes = 0;
  };
  [[nodiscard]] Status put(ipc::CompletionKind kind, std::uint64_t user_data, ipc::Words& words);
  // As many pieces as there is room for; true when the last one is out.
  [[nodiscard]] Result<bool> write(ipc::CompletionKind kind, std::uint64_t user_data,
                                   ipc::WordView words, std::size_t& written_bytes);

  ipc::DaemonEnd& end_;
  const std::size_t most_bytes_;    // of a piece
  const std::size_t most_waiting_;  // messages
  ipc::Words scratch_;
  std::deque<Message> waiting_;
  bool has_news_ = false;  // the client was not woken for
};

}  // namespace deepinfer::daemon
