#include "client/cli/file_descriptor.h"

#include <cerrno>
#include <system_error>

namespace deepinfer::cli {

std::string last_system_error() { return std::generic_category().message(errno); }

}  // namespace deepinfer::cli
