// Numbers that nobody can guess, from the kernel.
//
// Threads:  any
#pragma once

#include <cstdint>
#include <cstdlib>

#include <sys/random.h>

namespace deepinfer::daemon {

[[nodiscard]] inline std::uint64_t random_number() {
  std::uint64_t number = 0;
  // Eight bytes come whole, and without waiting once the machine is up (getrandom(2)).
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) std::abort();
  return number;
}

}  // namespace deepinfer::daemon
