#include "client/cli/daemon_error.h"

#include <string>

#include "client/cli/messages.h"

namespace deepinfer::cli {

RefusalKind kind_of_refusal(std::string_view code) {
  if (code == "over_capacity" || code == "loading") return RefusalKind::kForNow;
  if (code == "draining" || code == "stopping") return RefusalKind::kDraining;
  if (code == "unknown_job") return RefusalKind::kLost;
  if (code == "job_cancelled") return RefusalKind::kCancelled;
  return RefusalKind::kRequest;
}

int report(const ClientError& error, Alternative alternative, std::ostream& err) {
  const int exit_code = static_cast<int>(error.fault);
  if (error.code == "daemon_unreachable") {
    std::string mend = "start one with deepinferd --model DIR";
    if (alternative == Alternative::kEmbedded) {
      mend += ", or add --embedded --model DIR to run without one";
    }
    print_error(err, config::to_line({"no daemon can be reached", error.where, mend}));
    return exit_code;
  }
  // The code of a refusal stands in front, for scripts that must tell them apart.
  const std::string code = error.fault == ClientFault::kRefused ? error.code + ": " : "";
  print_error(err, config::to_line({code + error.what, error.where, error.mend}));
  return exit_code;
}

}  // namespace deepinfer::cli
