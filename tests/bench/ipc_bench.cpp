// What does shared memory buy? A null job there and back, and jobs/s with 64 under way, through our rings
// and through what one would use otherwise, in turns on one machine.
//
//   deepinfer-bench-ipc [--rounds N] [--samples N] [--jobs N] [--depth N] [--cpus CLIENT,SERVER] [--json]
//
// Each round measures every arm once, beginning with another one each time; a ratio is taken inside a
// round. Every arm has a server process that copies the same descriptor to private memory, decodes it
// under the codec's limits and answers with 64 bytes. Prints one line of JSON, then tables.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sched.h>

#include "tests/bench/ipc/job.h"
#include "tests/bench/ipc/measure.h"
#include "tests/bench/ipc/outcome.h"
#include "tests/bench/ipc/queue_arm.h"
#include "tests/bench/ipc/ring_arm.h"
#include "tests/bench/ipc/socket_arm.h"
#include "tests/bench/report.h"

namespace {

namespace bench = deepinfer::bench;
using bench::Quantity;
using bench::ServerWait;
using deepinfer::Result;

constexpr auto kClientSpin = std::chrono::microseconds(20);  // ClientOptions::spin

constexpr const char* kTwo = "two_processors";
constexpr const char* kOne = "one_processor";

struct Parameters {
  std::string commit = "unknown";
  std::size_t rounds = 10;
  bench::Plan plan;
  std::vector<int> cpus;
  bool is_json = false;
};

bench::ArmChoice ring(std::string name, std::string text, bench::RingOptions options) {
  bench::ArmChoice choice{std::move(name), std::move(text),
                          [options] { return bench::make_ring_arm(options); }};
  choice.may_use_both = options.client_spin.count() > 0;
  return choice;
}

std::vector<bench::ArmChoice> common_arms() {
  return {
      {"unix", "UNIX SEQPACKET echo", bench::make_socket_arm},
      {"queue", "Boost message_queue", bench::make_queue_arm},
      ring("ring", "ring, no spin; server sleeps as deepinferd", {}),
      ring("ring_default", "ring, client's default spin; server sleeps as deepinferd",
           {.client_spin = kClientSpin}),
  };
}

std::vector<bench::CaseOutcome> cases_for(const std::vector<int>& cpus) {
  std::vector<bench::CaseOutcome> cases;
  if (cpus.size() > 1 && cpus[0] != cpus[1]) {
    auto arms = common_arms();
    arms.push_back(ring("ring_spin", "ring, both sides spin 20 us (deepinferd does not)",
                        {.client_spin = kClientSpin, .server = ServerWait::kSpins}));
    cases.push_back({kTwo, {cpus[0], cpus[1]}, std::move(arms), {}});
  }
  cases.push_back({kOne, {cpus[0], cpus[0]}, common_arms(), {}});
  return cases;
}

// A goal is what the daemon promises; a target is what the design hoped for and shows where it stands.
std::vector<bench::Goal> all_goals() {
  constexpr auto kGoal = bench::Goal::Kind::kGoal;
  constexpr auto kTarget = bench::Goal::Kind::kTarget;
  return {
      {kGoal, kTwo, "ring_spin", "unix", Quantity::kP50, 0.10},
      {kGoal, kTwo, "ring_default", "unix", Quantity::kP50, 0.10},
      {kGoal, kTwo, "ring", "unix", Quantity::kP50, 1.0},
      {kGoal, kTwo, "ring", "unix", Quantity::kJobs, 8},
      {kGoal, kTwo, "ring_default", "unix", Quantity::kJobs, 8},
      {kTarget, kTwo, "ring_spin", "unix", Quantity::kP99, 0.10},
      {kTarget, kTwo, "ring", "unix", Quantity::kP99, 1.1},
      {kTarget, kTwo, "ring_spin", "unix", Quantity::kJobs, 25},
      {kTarget, kTwo, "ring", "queue", Quantity::kJobs, 1.8},
      {kTarget, kTwo, "ring_spin", "queue", Quantity::kJobs, 6},
      {kTarget, kOne, "ring_default", "unix", Quantity::kP50, 0.70},
  };
}

// The processors that this process may use, from the first on.
std::vector<int> allowed_processors() {
  cpu_set_t set{};
  std::vector<int> allowed;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) allowed.push_back(i);
  }
  return allowed;
}

// The first two, unless some were named: then whether this process may use them.
bool choose_processors(std::vector<int>& chosen) {
  const std::vector<int> allowed = allowed_processors();
  const auto most = std::min<std::ptrdiff_t>(2, std::ssize(allowed));
  if (chosen.empty()) chosen.assign(allowed.begin(), allowed.begin() + most);
  for (const int one : chosen) {
    if (std::find(allowed.begin(), allowed.end(), one) != allowed.end()) continue;
    std::cerr << "deepinfer-bench-ipc: error: processor " << one
              << " is not there, or not for this process (--cpus): see taskset -p $$\n";
    return false;
  }
  return true;
}

// Every arm once, beginning with another one in each round.
deepinfer::Status run_round(bench::CaseOutcome& outcome, const bench::Job& job,
                            const Parameters& parameters, std::size_t round) {
  const std::size_t arms = outcome.arms.size();
  outcome.rounds.resize(arms);
  for (std::size_t turn = 0; turn < arms; ++turn) {
    const std::size_t i = (round + turn) % arms;
    const auto arm = outcome.arms[i].make();
    bench::Placement placement = outcome.placement;
    placement.may_use_both = outcome.arms[i].may_use_both;
    const auto sample = bench::measure(*arm, job, parameters.plan, placement);
    if (!sample) {
      return deepinfer::fail(sample.error().code,
                             outcome.arms[i].text + ": " + sample.error().message);
    }
    outcome.rounds[i].push_back(*sample);
  }
  return deepinfer::Done{};
}

nlohmann::ordered_json head_of_report(const Parameters& parameters, const bench::Job& job) {
  return {
      {"bench", "ipc"},
      {"commit", parameters.commit},
      {"machine", bench::this_machine()},
      {"parameters",
       {{"rounds", parameters.rounds},
        {"samples", parameters.plan.samples},
        {"jobs", parameters.plan.jobs},
        {"depth", parameters.plan.depth},
        {"descriptor_bytes", deepinfer::ipc::bytes_of(job.descriptor).size()},
        {"cpus", parameters.cpus}}},
  };
}

int run(const Parameters& parameters) {
  const auto job = bench::make_job();
  if (!job) {
    std::cerr << "deepinfer-bench-ipc: error: " << job.error().message
              << " (codec): this is a bug of ours\n";
    return 1;
  }
  auto cases = cases_for(parameters.cpus);
  for (bench::CaseOutcome& outcome : cases) {
    for (std::size_t round = 0; round < parameters.rounds; ++round) {
      const auto done = run_round(outcome, *job, parameters, round);
      if (!done) {
        std::cerr << "deepinfer-bench-ipc: error: " << done.error().message << " (" << outcome.name
                  << ", round " << round << "): see docs/benchmarks.md\n";
        return 1;
      }
    }
  }
  auto report = head_of_report(parameters, *job);
  report.update(bench::report_of(cases, all_goals()));
  std::cout << report.dump() << "\n";
  if (!parameters.is_json) std::cout << bench::table_of(cases, all_goals());
  return 0;
}

void declare(CLI::App& app, Parameters& parameters) {
  app.add_option("--rounds", parameters.rounds, "turns of all arms")
      ->check(CLI::Range(5, 1000))
      ->capture_default_str();
  app.add_option("--samples", parameters.plan.samples, "round trips of each arm in a round")
      ->check(CLI::Range(100, 10'000'000))
      ->capture_default_str();
  app.add_option("--jobs", parameters.plan.jobs, "jobs of each arm's throughput in a round")
      ->check(CLI::Range(100, 10'000'000))
      ->capture_default_str();
  // More than the ring holds would measure something else.
  app.add_option("--depth", parameters.plan.depth, "jobs under way in the throughput")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--cpus", parameters.cpus,
                 "processors of client and server; the same one twice: no case with two")
      ->delimiter(',')
      ->expected(1, 2)
      ->check(CLI::Range(0, CPU_SETSIZE - 1));
  app.add_option("--commit", parameters.commit, "named in the report")->capture_default_str();
  app.add_flag("--json", parameters.is_json, "the line of JSON alone");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Parameters parameters;
    CLI::App app("Measures our shared memory beside a UNIX socket and a Boost message queue.");
    declare(app, parameters);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& parse_error) {
      return app.exit(parse_error) == 0 ? 0 : 2;
    }
    if (!choose_processors(parameters.cpus)) return 2;
    return run(parameters);
  } catch (const std::exception& thrown) {
    std::cerr << "deepinfer-bench-ipc: error: " << thrown.what() << "\n";
    return 1;
  }
}
