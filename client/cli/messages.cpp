#include "client/cli/messages.h"

#include <utility>

namespace deepinfer::cli {

Error usage_error(std::string what, std::string where, std::string mend) {
  return fail(ErrorCode::kInvalidArgument,
              config::to_line({std::move(what), std::move(where), std::move(mend)}));
}

void print_error(std::ostream& err, const std::string& line) {
  err << "deepinfer: error: " << line << '\n' << std::flush;
}

void print_warning(std::ostream& err, const config::Problem& problem) {
  err << "deepinfer: warning: " << config::to_line(problem) << '\n' << std::flush;
}

}  // namespace deepinfer::cli
