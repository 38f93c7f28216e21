// Options from the environment: DEEPINFER_... names, all problems at once.
//
// Errors:   every variable that cannot be used is a Problem; what has no effect is a warning
// Threads:  read_environment is pure; process_environment reads the process' own block
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/options.h"
#include "config/problem.h"

namespace deepinfer::config {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct EnvironmentReport {
  Options options;  // of use only when there are no problems
  std::vector<Problem> problems;
  std::vector<Problem> warnings;
};

// Looks at names that begin with DEEPINFER_ and at no others.
[[nodiscard]] EnvironmentReport read_environment(const Variables& variables);

struct Assignments;  // config/assignments.h
// The same on top of what other sources have set.
void apply_environment(const Variables& variables, Assignments& state);

// The variables of this process.
[[nodiscard]] Variables process_environment();

}  // namespace deepinfer::config
