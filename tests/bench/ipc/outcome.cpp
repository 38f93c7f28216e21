#include "tests/bench/ipc/outcome.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/bench/report.h"

namespace deepinfer::bench {
namespace {

constexpr double kMostSpread = 20;   // p99 of the anchor over its p50
constexpr double kMostMoved = 0.01;  // of the checks

constexpr std::array kQuantities{Quantity::kP50, Quantity::kP99, Quantity::kJobs};

const char* name_of(Goal::Kind kind) { return kind == Goal::Kind::kGoal ? "goal" : "target"; }

const char* field_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kP50:
      return "p50_us";
    case Quantity::kP99:
      return "p99_us";
    case Quantity::kJobs:
      break;
  }
  return "jobs_per_second";
}

const char* words_for(Quantity quantity) {
  switch (quantity) {
    case Quantity::kP50:
      return "p50";
    case Quantity::kP99:
      return "p99";
    case Quantity::kJobs:
      break;
  }
  return "jobs/s";
}

double value_of(const Sample& sample, Quantity quantity) {
  switch (quantity) {
    case Quantity::kP50:
      return sample.p50;
    case Quantity::kP99:
      return sample.p99;
    case Quantity::kJobs:
      break;
  }
  return sample.jobs_per_second;
}

using Range = nlohmann::ordered_json;  // as summary_of() makes it

double median_of(const Range& range) { return range.at("median").get<double>(); }
double least_of(const Range& range) { return range.at("min").get<double>(); }
double most_of(const Range& range) { return range.at("max").get<double>(); }

Range values_of(const std::vector<Sample>& rounds, Quantity quantity) {
  std::vector<double> values(rounds.size());
  std::transform(rounds.begin(), rounds.end(), values.begin(),
                 [&](const Sample& sample) { return value_of(sample, quantity); });
  return summary_of(std::move(values));
}

Range ratios_of(const std::vector<Sample>& arm, const std::vector<Sample>& anchor,
                Quantity quantity) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < arm.size(); ++round) {
    ratios.push_back(value_of(arm[round], quantity) / value_of(anchor[round], quantity));
  }
  return summary_of(std::move(ratios));
}

Range moved_shares_of(const std::vector<Sample>& rounds) {
  std::vector<double> shares(rounds.size());
  std::transform(rounds.begin(), rounds.end(), shares.begin(),
                 [](const Sample& sample) { return sample.moved_share; });
  return summary_of(std::move(shares));
}

// Whether the machine was too busy for what the goal speaks of.
bool is_void(const std::vector<Sample>& arm, const std::vector<Sample>& anchor, Quantity quantity) {
  if (median_of(moved_shares_of(arm)) > kMostMoved) return true;
  return quantity == Quantity::kP99 &&
         median_of(values_of(anchor, Quantity::kP99)) >
             kMostSpread * median_of(values_of(anchor, Quantity::kP50));
}

const std::vector<Sample>* rounds_of(const CaseOutcome& outcome, const std::string& arm) {
  for (std::size_t i = 0; i < outcome.arms.size(); ++i) {
    if (outcome.arms[i].name == arm) return &outcome.rounds[i];
  }
  return nullptr;
}

struct Judged {
  Range ratio;
  const char* verdict = "missed";
};

// Nothing: that case was not run.
std::optional<Judged> judge(const std::vector<CaseOutcome>& cases, const Goal& goal) {
  for (const CaseOutcome& outcome : cases) {
    if (outcome.name != goal.case_name) continue;
    const auto* arm = rounds_of(outcome, goal.arm);
    const auto* anchor = rounds_of(outcome, goal.anchor);
    if (arm == nullptr || anchor == nullptr) return std::nullopt;
    Judged judged{ratios_of(*arm, *anchor, goal.quantity)};
    const double ratio = median_of(judged.ratio);
    const bool is_met =
        goal.quantity == Quantity::kJobs ? ratio >= goal.bound : ratio <= goal.bound;
    if (is_met) judged.verdict = "met";
    if (is_void(*arm, *anchor, goal.quantity)) judged.verdict = "void";
    return judged;
  }
  return std::nullopt;
}

template <typename... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

std::string table_of(const CaseOutcome& outcome) {
  std::string text = formatted("\n%s: client on processor %d, server on %d\n", outcome.name.c_str(),
                               outcome.placement.client, outcome.placement.server);
  text += formatted("  %-58s %8s %9s %10s   %-24s %-22s\n", "arm (medians over the rounds)",
                    "p50 us", "p99 us", "jobs/s", "p50 to the first arm", "jobs/s to it");
  for (std::size_t i = 0; i < outcome.arms.size(); ++i) {
    const auto& rounds = outcome.rounds[i];
    const Range p50 = ratios_of(rounds, outcome.rounds.front(), Quantity::kP50);
    const Range jobs = ratios_of(rounds, outcome.rounds.front(), Quantity::kJobs);
    text +=
        formatted("  %-58s %8.2f %9.2f %10.0f   %6.3f (%6.3f .. %6.3f)   %5.2f (%5.2f .. %5.2f)\n",
                  outcome.arms[i].text.c_str(), median_of(values_of(rounds, Quantity::kP50)),
                  median_of(values_of(rounds, Quantity::kP99)),
                  median_of(values_of(rounds, Quantity::kJobs)), median_of(p50), least_of(p50),
                  most_of(p50), median_of(jobs), least_of(jobs), most_of(jobs));
    if (const Range moved = moved_shares_of(rounds); most_of(moved) > 0) {
      text += formatted(
          "  %-58s found on the server's processor: %.1f %% of the checks (%.1f .. %.1f)\n", "",
          100 * median_of(moved), 100 * least_of(moved), 100 * most_of(moved));
    }
  }
  return text;
}

std::string line_of(const Goal& goal, const Judged& judged) {
  const std::string what = std::string(words_for(goal.quantity)) + " of " + goal.arm + " to " +
                           goal.anchor + ", " + goal.case_name;
  return formatted("  %-7s %-56s %s %5.2f   %8.3f (%.3f .. %.3f)   %s\n", name_of(goal.kind),
                   what.c_str(), goal.quantity == Quantity::kJobs ? ">=" : "<=", goal.bound,
                   median_of(judged.ratio), least_of(judged.ratio), most_of(judged.ratio),
                   judged.verdict);
}

nlohmann::ordered_json report_of(const std::vector<Sample>& arm,
                                 const std::vector<Sample>& anchor) {
  nlohmann::ordered_json report;
  for (const Quantity quantity : kQuantities) {
    report[field_of(quantity)] = values_of(arm, quantity);
  }
  if (Range moved = moved_shares_of(arm); most_of(moved) > 0) {
    report["moved_share"] = std::move(moved);
  }
  if (&arm == &anchor) return report;
  for (const Quantity quantity : kQuantities) {
    report["ratio"][field_of(quantity)] = ratios_of(arm, anchor, quantity);
  }
  return report;
}

nlohmann::ordered_json report_of(const Goal& goal, const Judged& judged) {
  const char* bound = goal.quantity == Quantity::kJobs ? "at_least" : "at_most";
  return {{"kind", name_of(goal.kind)},
          {"case", goal.case_name},
          {"arm", goal.arm},
          {"anchor", goal.anchor},
          {"quantity", field_of(goal.quantity)},
          {bound, goal.bound},
          {"ratio", judged.ratio},
          {"verdict", judged.verdict}};
}

}  // namespace

nlohmann::ordered_json report_of(const std::vector<CaseOutcome>& cases,
                                 const std::vector<Goal>& goals) {
  nlohmann::ordered_json report;
  for (const CaseOutcome& outcome : cases) {
    nlohmann::ordered_json& arms = report["cases"][outcome.name];
    for (std::size_t i = 0; i < outcome.arms.size(); ++i) {
      arms[outcome.arms[i].name] = report_of(outcome.rounds[i], outcome.rounds.front());
    }
  }
  for (const Goal& goal : goals) {
    if (const auto judged = judge(cases, goal)) report["goals"].push_back(report_of(goal, *judged));
  }
  return report;
}

std::string table_of(const std::vector<CaseOutcome>& cases, const std::vector<Goal>& goals) {
  std::string text;
  for (const CaseOutcome& outcome : cases) text += table_of(outcome);
  text += formatted("\n  %-64s %8s   %-28s\n", "ratio", "", "median (least .. most)");
  for (const Goal& goal : goals) {
    if (const auto judged = judge(cases, goal)) text += line_of(goal, *judged);
  }
  return text;
}

}  // namespace deepinfer::bench
