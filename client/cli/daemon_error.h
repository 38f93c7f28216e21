// What the daemon, or the way to it, refused: in words, and as an exit code.
//
// Threads:  pure functions but for the messages
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

#include <deepinfer/client.h>

namespace deepinfer::cli {

// What a refusal of one request means for the others.
enum class RefusalKind : std::uint8_t {
  kRequest,    // there is something wrong with this one
  kCancelled,  // its job was cancelled before it came
  kForNow,     // the same request may be accepted a little later
  kDraining,   // this daemon accepts no more
  kLost,       // this daemon does not know the job: it is not the one that was asked before
};
[[nodiscard]] RefusalKind kind_of_refusal(std::string_view code);

// Whether a command can do without a daemon.
enum class Alternative : std::uint8_t { kNone, kEmbedded };

// Prints it and returns the exit code.
[[nodiscard]] int report(const ClientError& error, Alternative alternative, std::ostream& err);

}  // namespace deepinfer::cli
