// One thing that is wrong with what a user gave us, in the three parts that a message has.
//
// Threads:  plain values
#pragma once

#include <string>

namespace deepinfer::config {

struct Problem {
  std::string what;   // one lower-case clause with the offending value
  std::string where;  // file, flag, variable or key
  std::string mend;   // how to mend it
};

// "WHAT (WHERE): HOW TO MEND", on one line whatever the parts contain.
[[nodiscard]] std::string to_line(const Problem& problem);

}  // namespace deepinfer::config
