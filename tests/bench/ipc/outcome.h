// What the rounds gave: for each arm its times, and its ratios to an anchor of the same round.
//
// A ratio is taken inside each round, where both arms met the same noise; its median over the rounds is
// what a goal is held against.
// Units:    microseconds; jobs a second; ratios
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tests/bench/ipc/arm.h"
#include "tests/bench/ipc/measure.h"

namespace deepinfer::bench {

enum class Quantity : std::uint8_t { kP50, kP99, kJobs };

// All arms at one placement. rounds[arm][round]; the first arm is the anchor of every ratio shown.
struct CaseOutcome {
  std::string name;  // of the report's field
  Placement placement;
  std::vector<ArmChoice> arms;
  std::vector<std::vector<Sample>> rounds;
};

struct Goal {
  enum class Kind : std::uint8_t { kGoal, kTarget };
  Kind kind = Kind::kGoal;
  std::string case_name;
  std::string arm;
  std::string anchor;
  Quantity quantity = Quantity::kP50;
  double bound = 1;  // kJobs: at least; else at most
};

// One field for each case, and "goals" with a verdict each: "met", "missed", or "void" on a machine that is
// too busy: the anchor's p99 is more than 20 times its p50 (a p99 is void), or the scheduler has put a
// client beside its server (all of that arm is).
[[nodiscard]] nlohmann::ordered_json report_of(const std::vector<CaseOutcome>& cases,
                                               const std::vector<Goal>& goals);
// The same for a reader.
[[nodiscard]] std::string table_of(const std::vector<CaseOutcome>& cases,
                                   const std::vector<Goal>& goals);

}  // namespace deepinfer::bench
