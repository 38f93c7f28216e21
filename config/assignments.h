// What the sources of the configuration add up to, one value after another: a later one wins.
//
// Threads:  plain values and pure functions
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/options.h"
#include "config/problem.h"
#include "config/settings.h"

namespace deepinfer::config {

struct Assignments {
  Options options;
  Origins origins;  // of the applied keys that were set
  std::vector<Problem> problems;
  std::vector<Problem> warnings;
  std::set<std::string, std::less<>> failed;  // keys that some source sets to what cannot be used
};

// One value for one key, and the words in which a person knows it.
struct Assignment {
  const Setting& setting;
  std::string_view value;
  std::string origin;   // as in Origins
  std::string name;     // "engine.threads", "DEEPINFER_ENGINE__THREADS"
  std::string equals;   // between name and value: " = "
  std::string where;    // of a problem
  std::string removal;  // how it is taken away: "unset it"
};

// Applies the value; what is wrong with it becomes a problem.
void assign(const Assignment& assignment, Assignments& state);

// What only the final values can show.
void check_together(Assignments& state);

}  // namespace deepinfer::config
