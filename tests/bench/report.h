// What every benchmark prints: one line of JSON with commit, machine, parameters and, for each quantity
// that was measured, its median, minimum and maximum over the repetitions.
//
// Threads: pure functions
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace deepinfer::bench {

// {"median", "min", "max", "repetitions"}; `samples` is not empty.
[[nodiscard]] nlohmann::ordered_json summary_of(std::vector<double> samples);

// {"cpu", "processors", "kernel"}: the processor's and the kernel's names as the system has them.
[[nodiscard]] nlohmann::ordered_json this_machine();

}  // namespace deepinfer::bench
