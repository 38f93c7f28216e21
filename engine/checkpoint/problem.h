// One thing that is wrong with a checkpoint, in words a user can act on.
//
// Reading a checkpoint collects every problem before it gives up, so that one run names them all.
//
// Threads:  a plain value.
#pragma once

#include <string>
#include <vector>

namespace deepinfer::engine {

struct Problem {
  std::string where;  // file, or file: tensor
  std::string what;   // one lower-case clause with the offending values
  std::string mend;   // what to do about it
};

using Problems = std::vector<Problem>;

}  // namespace deepinfer::engine
